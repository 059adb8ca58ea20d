"""Whether Telegram and this deployment understand each other. What is wrong has its mend."""
