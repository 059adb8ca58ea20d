"""Cards as values: believable ones of a small shop, made by core's own code, as Slack is sent them."""
