"""Parts of workloads: servers and their commands, applications, look-ups, parsers, TLS, work."""
