"""`python -m workers.outside.on_daphne module:name`: daphne as N processes on one listener.

daphne has no workers, and takes no factory; its documentation leaves both to a supervisor. This is
one: it listens, starts the workers, and ends with the first of them that ends.
"""

import argparse
import importlib
import os
import signal
import socket
import sys
from typing import Any

from workers.system import ends_with_this_process

BACKLOG = 2_048


def main() -> int:
    """Serve until a worker ends."""
    options = _options()
    listener = socket.create_server((options.host, options.port), backlog=BACKLOG)
    end_with_us = ends_with_this_process(signal.SIGKILL)
    for _ in range(options.workers):
        if os.fork() == 0:
            end_with_us()
            _serve(_application(options.application, options.factory), listener)
            return 1
    _, status = os.wait()
    return os.waitstatus_to_exitcode(status) or 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m workers.outside.on_daphne")
    parser.add_argument("application", help="package.module:name")
    parser.add_argument("--factory", action="store_true", help="call it to make the application")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    return parser.parse_args()


def _application(path: str, factory: bool) -> Any:
    module, _, name = path.partition(":")
    found = getattr(importlib.import_module(module), name)
    return found() if factory else found


def _serve(application: Any, listener: socket.socket) -> None:
    from daphne.server import Server  # installs its reactor: in the worker, after the fork

    endpoint = f"fd:fileno={listener.fileno()}"
    Server(application, endpoints=[endpoint], verbosity=0, signal_handlers=False).run()


if __name__ == "__main__":
    sys.exit(main())
