"""How many files a process may open, sockets among them, and making the most of it.

Shells often start programs with a soft limit of 1,024, which one workload of 5,000 connections
exceeds; a process may raise its own up to the hard limit, and only an administrator that one.
"""

import contextlib

try:
    import resource
except ImportError:  # Windows has no such limit

    def raise_limit() -> None:
        """Nothing to raise on this system."""

    def limit() -> int | None:
        """Nothing to read on this system."""
        return None
else:

    def raise_limit() -> None:
        """Raise this process's soft limit to the hard one, as far as the system lets it."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(ValueError, OSError):  # macOS allows less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def limit() -> int | None:
        """How many files this process may open; None where there is no limit."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return None if soft == resource.RLIM_INFINITY else soft
