"""The check of an application on several loops: the workload `app`, with faults noted inside."""
