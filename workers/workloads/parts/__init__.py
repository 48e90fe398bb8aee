"""Parts that workloads are made of: servers, parsers, TLS, look-ups, and so on."""
