"""What people do in Slack: verified, sorted out, brought to the front, and answered."""
