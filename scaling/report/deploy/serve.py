"""Serves an ASGI application on N event loops, each in a thread of this process.

    python3.14t serve.py shop.main:create_app --factory --workers 4 --port 8000

Every loop has its own application (with --factory) and its own lifespan. It needs uvicorn. Without
--factory, all loops share one object: is it safe to call from several threads?
"""

import argparse
import asyncio
import itertools
import logging
import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import uvicorn

SIGNALS = (signal.SIGTERM, signal.SIGINT)
logger = logging.getLogger("serve")


class Worker(threading.Thread):
    """One event loop with uvicorn's own server, which is given connections and listens nowhere."""

    def __init__(self, options: argparse.Namespace, ended: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        # log_config would set up logging for the whole process, once more in each thread.
        config: dict[str, Any] = {"factory": options.factory, "log_config": None, "ws": "none"}
        self.server = uvicorn.Server(uvicorn.Config(options.app, access_log=False, **config))
        self.error: BaseException | None = None
        self._ended = ended

    def run(self) -> None:
        """Serve until told to stop; an error is kept for the main thread."""
        try:
            with asyncio.Runner(loop_factory=self.server.config.get_loop_factory()) as runner:
                self.loop = runner.get_loop()
                runner.run(self.server.serve(sockets=[]))
        except BaseException as error:  # SystemExit, too: a lifespan that fails
            self.error = error
        self._ended()

    def has_begun(self) -> bool:
        """Whether it can take connections, or has failed."""
        return self.server.started or not self.is_alive()

    def take(self, connection: socket.socket) -> None:
        """Serve a connection, from any thread."""
        asyncio.run_coroutine_threadsafe(
            self.loop.connect_accepted_socket(self._protocol, connection), self.loop
        )

    def _protocol(self) -> asyncio.Protocol:
        server, make = self.server, cast(Any, self.server.config.http_protocol_class)
        protocol: asyncio.Protocol = make(server.config, server.server_state, server.lifespan.state)
        return protocol

    def drain(self) -> None:
        """Ask for `Connection: close` in every answer, so that no client sends another request."""
        self.server.config.encoded_headers.append((b"connection", b"close"))
        self.server.server_state.default_headers = self.server.config.encoded_headers


async def main(options: argparse.Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C, or until a loop ends by an error; return the exit code."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    workers = [
        Worker(options, lambda: loop.call_soon_threadsafe(stop.set)) for _ in range(options.workers)
    ]
    for index, worker in enumerate(workers):  # one by one: the environment is the process's
        os.environ |= {"SCALING_WORKERS": f"{options.workers}", "SCALING_WORKER_INDEX": f"{index}"}
        worker.start()
        await until(worker.has_begun)
        if worker.error:
            return ended(workers)
    for number in SIGNALS:
        loop.add_signal_handler(number, stop.set)
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        logger.warning("the GIL is on: the loops take turns")
    # One listener, and this thread deals connections round-robin. With SO_REUSEPORT on a socket
    # for each loop, a hash deals them, so a few long-lived connections crowd on one loop; with one
    # socket for all loops, the busiest takes most. SO_REUSEPORT on this one is for a restart: the
    # next process listens before this one stops.
    listener = socket.create_server((options.host, options.port), backlog=2048, reuse_port=True)
    listener.setblocking(False)
    turns = itertools.cycle(workers)
    loop.add_reader(listener, accept, listener, turns)
    logger.info("serving %s on %s loops: %s", options.app, options.workers, listener.getsockname())
    await stop.wait()

    for number in SIGNALS:  # a second signal ends the process at once
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)
    if all(worker.is_alive() for worker in workers):
        accept(listener, turns)  # those that still wait in the socket
    loop.remove_reader(listener)
    listener.close()
    for worker in workers:
        worker.drain()
    await asyncio.sleep(0.1)  # connections that were just dealt are counted by then
    states = [worker.server.server_state for worker in workers if worker.is_alive()]
    await until(lambda: not any(state.connections for state in states), options.drain)
    for worker in workers:
        worker.server.should_exit = True  # finishes requests that run, then the lifespan
    await until(lambda: not any(worker.is_alive() for worker in workers))
    return ended(workers)


def accept(listener: socket.socket, turns: "itertools.cycle[Worker]") -> None:
    """Deal all connections that wait."""
    try:
        while True:
            connection, _ = listener.accept()
            next(turns).take(connection)
    except BlockingIOError:
        pass
    except OSError as error:  # out of descriptors: wait for connections to end
        logger.warning("no connection could be accepted: %s", error)
        time.sleep(0.1)


async def until(reached: Callable[[], bool], limit_s: float = math.inf) -> None:
    """Wait until something in other threads is so, for `limit_s` at most."""
    end = time.monotonic() + limit_s
    while not reached():
        if time.monotonic() > end:
            break
        await asyncio.sleep(0.02)


def ended(workers: Sequence[Worker]) -> int:
    """Print the errors that ended loops; return the exit code of the process."""
    errors = [worker.error for worker in workers if worker.error]
    for error in errors:
        logger.error("a loop ended by an error", exc_info=error)
    return int(bool(errors))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("app", metavar="MODULE:NAME")
    parser.add_argument("--factory", action="store_true", help="NAME makes an application")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="event loops")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument(
        "--drain", type=float, default=5.0, help="s that idle connections stay open"
    )
    raise SystemExit(asyncio.run(main(parser.parse_args())))
