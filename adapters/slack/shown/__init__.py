"""What is to be seen in Slack, as Block Kit: made of values alone, nothing is sent here."""
