"""What the operating system is asked for: more open files, free ports, an end with the parent."""

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable

from workers.cell import LOOPBACK

# --------------------------------------------------------------------------------------- open files
# The limit on a process's open files, sockets included, and how to raise it.
#
# Shells often start programs with a soft limit of 1,024, too few for a workload with 5,000
# connections. A process may raise its soft limit up to the hard one; only an administrator can
# raise that.

try:
    import resource
except ImportError:  # Windows has no such limit

    def raise_limit() -> None:
        """Do nothing: this system has no such limit."""

    def open_files_limit() -> int | None:
        """Return None: this system has no such limit."""
        return None
else:

    def raise_limit() -> None:
        """Raise this process's soft limit to the hard one, as far as the system allows."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(ValueError, OSError):  # macOS allows less than its hard limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def open_files_limit() -> int | None:
        """How many files this process may open; None means no limit."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return None if soft == resource.RLIM_INFINITY else soft


# ----------------------------------------------------------------------------------------- loopback


def listen(backlog: int) -> tuple[socket.socket, str, int]:
    """Open a listening socket on a free port; return it, its host and its port.

    The protocol is given because asyncio sets TCP_NODELAY only then (with protocol 0 every message
    waits for a delayed acknowledgement). The host is an address: no resolver thread is started.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind((LOOPBACK, 0))
    listener.listen(backlog)
    host, port = listener.getsockname()
    return listener, host, port


def free_port() -> int:
    """A port of the loopback on which nothing listens now."""
    with socket.socket() as listening:
        listening.bind((LOOPBACK, 0))
        port: int = listening.getsockname()[1]
        return port


# ---------------------------------------------------------------------------------------- processes
# A process that is started ends with this one, its parent.

PR_SET_PDEATHSIG = 1


def ends_with_this_process(by: signal.Signals) -> Callable[[], None]:
    """What a new process calls after the fork, so that the kernel ends it when this one ends.

    A later change of the new process's user would undo it.
    """
    import ctypes  # costs memory: no measured worker starts a process

    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()  # nothing is loaded after the fork

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, int(by))
        if os.getppid() != parent:  # it is gone already
            os._exit(1)

    return ask


def end_with_the_parent() -> None:
    """Have the kernel kill this process when the one that started it ends (Linux).

    For a process that imports what may never return, and of which nobody reads the answer then.
    """
    if sys.platform == "linux":
        with contextlib.suppress(ImportError):  # a build without libffi
            import ctypes

            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
