"""What core's ports are made of here: databases, chat services, models. Knows core, never bot."""
