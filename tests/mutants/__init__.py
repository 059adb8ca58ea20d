"""Bugs, each a patch, that the simulation must find within its stated seeds."""
