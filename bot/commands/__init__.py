"""What the commands of the command line do; cli.py says their names, arguments and help."""
