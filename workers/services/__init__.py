"""What workloads talk to, each a program in its own process."""
