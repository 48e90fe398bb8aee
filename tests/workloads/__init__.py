"""Workloads that lose time on purpose, as a user's own would be: `--path tests/workloads`."""
