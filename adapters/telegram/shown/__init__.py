"""What is to be seen in Telegram, as texts and keyboards: made of values alone, nothing is sent here."""
