"""Serves an ASGI application on N event loops, each in a thread of this process.

    python3.14t serve.py shop.main:create_app --factory --workers 4 --port 8000

Each loop has a lifespan and, with --factory, an application of its own. SIGTERM or Ctrl-C: takes no
more connections, finishes every request, ends the lifespans; a second one ends at once. A loop that
fails ends the process. To restart, start the next process, then end this one.
"""

import argparse
import asyncio
import importlib
import itertools
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from operator import attrgetter
from typing import Any

try:
    import uvicorn
except ModuleNotFoundError:
    sys.exit(f"serve.py: uvicorn is missing: {sys.executable} -m pip install uvicorn httptools")

DRAIN_S = 5.0  # as long as uvicorn keeps an idle connection
logger = logging.getLogger("serve")


class Worker(threading.Thread):
    """One loop with uvicorn's own server, which listens nowhere: it is given connections."""

    def __init__(self, app: str, *, factory: bool) -> None:
        super().__init__(daemon=True)
        # log_config would set up the logging of the whole process again for each loop.
        self.config = uvicorn.Config(app, factory=factory, access_log=False, log_config=None)
        self.server = uvicorn.Server(self.config)
        self.taken: Future[Any] | None = None  # the last connection

    def run(self) -> None:
        """Serve until `server.should_exit`."""
        try:
            with asyncio.Runner(loop_factory=self.config.get_loop_factory()) as runner:
                self.loop = runner.get_loop()
                runner.run(self.server.serve(sockets=[]))
        except BaseException:  # SystemExit, too: a lifespan that fails
            logger.exception("a loop has failed")
            os._exit(1)  # a service manager starts all of them again

    def take(self, connection: socket.socket) -> None:
        """Serve a connection that another thread has accepted."""
        protocol: Any = self.config.http_protocol_class
        arguments = (self.config, self.server.server_state, self.server.lifespan.state)
        served = self.loop.connect_accepted_socket(lambda: protocol(*arguments), connection)
        self.taken = asyncio.run_coroutine_threadsafe(served, self.loop)

    def is_connected(self) -> bool:
        """Whether a client is, or will be when the loop gets to it."""
        waits = self.taken is not None and not self.taken.done()
        return waits or bool(self.server.server_state.connections)


def found(path: str) -> Any:
    """What MODULE:NAME is. Where there is no such thing, the program ends with one line."""
    module, colon, name = path.partition(":")
    if not (module and colon and name):
        sys.exit(f"serve.py: {path}: expected MODULE:NAME, as in shop.main:app")
    try:
        imported = importlib.import_module(module)
    except ImportError as error:
        sys.exit(f"serve.py: {module} cannot be imported in this folder: {error}")
    try:
        return attrgetter(name)(imported)
    except AttributeError as error:
        sys.exit(f"serve.py: {error}")


def deal(workers: Sequence[Worker], listener: socket.socket) -> None:
    """Give each loop a connection in turn, until a signal comes.

    Loops that accept for themselves would get uneven shares.
    """

    def stop(number: int, _frame: object) -> None:
        listener.setblocking(False)  # take those that wait already, then end
        signal.signal(number, signal.SIG_DFL)

    listener.settimeout(0.2)  # a signal that comes just before accept() waits no longer
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    turns = itertools.cycle(workers)
    while True:
        try:
            connection, _ = listener.accept()
            next(turns).take(connection)
        except BlockingIOError:
            return
        except TimeoutError:
            continue
        except OSError as error:
            logger.warning("a connection was not taken: %s", error)
            time.sleep(0.1)  # too many files are open: wait for connections to end


def drain(workers: Sequence[Worker]) -> None:
    """Finish what runs. Every answer now asks its client to close, so that no request is lost."""
    for worker in workers:
        worker.config.encoded_headers.append((b"connection", b"close"))
    end, connected = time.monotonic() + DRAIN_S, True
    while connected and time.monotonic() < end:
        time.sleep(0.1)
        connected = any(worker.is_connected() for worker in workers)
    for worker in workers:
        worker.server.should_exit = True
    for worker in workers:
        worker.join()


def main(options: argparse.Namespace) -> None:
    """Start the loops, listen, serve."""
    os.environ |= {"SCALING_WORKERS": f"{options.workers}", "SCALING_WORKER_INDEX": "0"}
    found(options.app)  # else uvicorn would end each loop with a traceback
    workers = [Worker(options.app, factory=options.factory) for _ in range(options.workers)]
    for index, worker in enumerate(workers):  # one by one: the environment is the process's
        os.environ |= {"SCALING_WORKERS": f"{options.workers}", "SCALING_WORKER_INDEX": f"{index}"}
        worker.start()
        while not worker.server.started:
            time.sleep(0.01)
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        logger.warning("the GIL is on: the loops take turns")
    # reuse_port is for a restart: the next process listens before this one ends.
    address = options.host, options.port
    try:
        listener = socket.create_server(address, backlog=2048, reuse_port=True)
    except (OSError, OverflowError) as error:
        sys.exit(f"serve.py: no socket for {address}: {error}; choose with --host and --port")
    with listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
        logger.info("%d loops serve http://%s:%d", len(workers), *address)
        deal(workers, listener)
    drain(workers)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("app", metavar="MODULE:NAME")
    parser.add_argument("--factory", action="store_true", help="NAME makes an application")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="event loops")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    sys.path.insert(0, "")  # MODULE is found in the folder that this is started in
    given = parser.parse_args()
    if given.workers < 1:
        parser.error(f"--workers is {given.workers}; it takes 1 or more")
    main(given)
