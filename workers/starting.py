"""To start another process: a free port for it, and that it ends with this one."""

import ctypes
import os
import signal
import socket
from collections.abc import Callable

from workers.cell import LOOPBACK

PR_SET_PDEATHSIG = 1


def free_port() -> int:
    """A port of the loopback on which nothing listens now."""
    with socket.socket() as listening:
        listening.bind((LOOPBACK, 0))
        port: int = listening.getsockname()[1]
        return port


def ends_with_this_process(by: signal.Signals) -> Callable[[], None]:
    """What a new process calls after the fork, so that the kernel ends it when this one ends.

    A later change of the new process's user would undo it.
    """
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()  # nothing is loaded after the fork

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, int(by))
        if os.getppid() != parent:  # it is gone already
            os._exit(1)

    return ask
