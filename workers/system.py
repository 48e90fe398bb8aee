"""Requests to the operating system: more open files, sockets, an end with the parent process."""

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
        """The number of files that this process may open; None means no limit."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return None if soft == resource.RLIM_INFINITY else soft


# ----------------------------------------------------------------------------------------- loopback

BACKLOG = 2_048  # connections that wait to be accepted by a worker


def listen(
    backlog: int = BACKLOG, port: int = 0, *, reuse_port: bool = False
) -> tuple[socket.socket, str, int]:
    """Open a listening socket; return it, its host and its port (0: a free one is found).

    The protocol is given because asyncio sets TCP_NODELAY only then (with protocol 0 every message
    waits for a delayed acknowledgement). The host is an address: no resolver thread is started.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if reuse_port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(backlog)
    except OSError:
        listener.close()
        raise
    host, port = listener.getsockname()
    return listener, host, port


def socket_of(descriptor: int) -> socket.socket:
    """Return the socket behind a descriptor that this process was given."""
    made = socket.socket(fileno=descriptor)
    made.setblocking(False)
    return made


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
    """Return a function for a new process to call: then the kernel ends it with this process.

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
    """Ask the kernel to kill this process when the one that started it ends (Linux).

    For a process that imports a user's code, which may never return.
    """
    if sys.platform == "linux":
        with contextlib.suppress(ImportError):  # a build without libffi
            import ctypes

            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
