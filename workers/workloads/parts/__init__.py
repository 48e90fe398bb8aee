"""Parts that workloads are made of: the ends of a connection, timers, parsers, TLS, and so on."""
