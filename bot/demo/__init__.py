"""The example shop: a host with real rows, a scripted model, and the supervisor that kills its workers."""
