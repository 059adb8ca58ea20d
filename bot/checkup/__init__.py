"""What of a deployment is well and what is not: a file for each chat, and for what they all stand on."""
