"""Workloads, one file each; `parts` has what they are made of, `check` the one of a check."""
