"""Workloads, one file each; what they are made of is in `parts`."""
