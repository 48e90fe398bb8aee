"""One worker: its session from import to teardown, and what a workload sees of it."""
