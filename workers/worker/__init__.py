"""One worker's session, and what a workload sees of it."""
