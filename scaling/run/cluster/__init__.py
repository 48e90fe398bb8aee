"""One study on several hosts: each measures all of it for itself, dask.distributed starts it there.

On a host, the engine's worker (`worker`) starts a process that measures as `scaling run` does, and
sends the lines of its journal on (`on_host`). Here, `engine` makes or finds the cluster, and
`measure` does all of a study and keeps a copy of each journal.
"""
