"""What people do in Telegram: parsed, sorted out, brought to the front, and answered."""
