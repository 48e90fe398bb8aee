"""The workloads of the study, one file each."""
