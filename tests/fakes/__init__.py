"""Stand-ins for services, over real HTTP on this machine."""
