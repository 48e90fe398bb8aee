"""The limit on a process's open files, sockets included, and how to raise it.

Shells often start programs with a soft limit of 1,024, too few for a workload with 5,000
connections. A process may raise its soft limit up to the hard one; only an administrator can raise
that.
"""

import contextlib

try:
    import resource
except ImportError:  # Windows has no such limit

    def raise_limit() -> None:
        """Do nothing: this system has no such limit."""

    def limit() -> int | None:
        """Return None: this system has no such limit."""
        return None
else:

    def raise_limit() -> None:
        """Raise this process's soft limit to the hard one, as far as the system allows."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(ValueError, OSError):  # macOS allows less than its hard limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def limit() -> int | None:
        """How many files this process may open; None means no limit."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return None if soft == resource.RLIM_INFINITY else soft
