"""Services that workloads talk to, and the load generator, each a program in its own process."""
