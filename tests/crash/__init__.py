"""Crash tests: a process dies at each of its calls to the outside, another goes on, the rules still hold."""
