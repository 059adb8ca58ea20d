"""What is to be seen in Telegram, as texts with entities and keyboards: made of values alone, nothing is sent here."""
