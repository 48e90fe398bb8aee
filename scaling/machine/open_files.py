"""The hard limit on open files: a process may raise its own limit up to it."""

try:
    import resource
except ImportError:  # Windows has no such limit

    def open_files_limit() -> int | None:
        """This system has no such limit."""
        return None
else:

    def open_files_limit() -> int | None:
        """The hard limit on open files of this process and its children; None: there is none."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        return None if hard == resource.RLIM_INFINITY else hard
