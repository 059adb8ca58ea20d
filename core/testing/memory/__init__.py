"""A store in memory: every port of core/ports.py over plain rows, for tests and simulations.

The rules are the moves', as everywhere; here are only the rows, and what a database's schema holds
of them. One event loop uses it: nothing is awaited inside a port's method, so each is one transaction.
"""
