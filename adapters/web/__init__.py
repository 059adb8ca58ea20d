"""The web process's own: what any request has to keep to, and whether the process is well."""
