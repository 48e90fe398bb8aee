"""What all services have in common: options, sockets, processes, start and stop."""
