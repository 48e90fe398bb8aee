"""What the local servers that workloads talk to have in common: sockets, processes, their end."""
