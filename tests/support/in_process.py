"""A workload, its server, or a server of a test's own in this very process: a test can reach in."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.support.children import PATIENCE_S
from workers import Worker, Workload
from workers.host.inbound import Inbound
from workers.loops import runner_for
from workers.services.load.request import Request
from workers.services.serving import listen, url_of
from workers.system import socket_of
from workers.workloads.parts.served import Served
from workers.workloads.serve import Serve

ALL_LOOPS = ["asyncio", "uvloop", "trio", "anyio/asyncio", "anyio/trio"]


def run_alone(workload: Workload, loop: str = "asyncio", index: int = 0) -> Worker:
    """Set up, run and tear down a finite workload; return the worker that counted."""
    worker = Worker(index, index + 1, {}, loop)

    async def life() -> None:
        await workload.setup(worker)
        try:
            await workload.run(worker)
        finally:
            await workload.teardown(worker)

    runner_for(loop).run(life)
    return worker


@dataclass(frozen=True)
class AtWork:
    """A worker whose server answers at `address` (host, port)."""

    serve: Any
    worker: Worker
    address: tuple[str, int]

    @property
    def counted(self) -> tuple[int, int]:
        """Operations and errors so far."""
        return self.worker.operations, self.worker.errors


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


@contextlib.asynccontextmanager
async def at_work(
    index: int = 0, workers: int = 1, kind: type[Served] = Serve, **parameters: Any
) -> AsyncIterator[AtWork]:
    """One worker that takes connections while the block runs."""
    serve = kind(**parameters)
    serve.load()
    worker = Worker(index, workers, {})
    inbound = Inbound(serve.accept, 1)
    worker.inbound = inbound.policy, socket_of(os.dup(inbound.descriptor(0)))
    host, _, port = inbound.addresses[0].partition(":")
    try:
        async with asyncio.timeout(PATIENCE_S):
            try:
                await serve.setup(worker)
                inbound.start()
                yield AtWork(serve, worker, (host, int(port)))
            finally:
                worker.stop()
                await serve.teardown(worker)
    finally:
        inbound.close()


async def ask(address: tuple[str, int], *requests: Request | bytes) -> list[Answer]:
    """The answers to requests that are sent over one connection, one after the other."""
    reader, writer = await asyncio.open_connection(*address)
    answers = []
    for each in requests:
        sent = each if isinstance(each, bytes) else each.on_http("test", "/", keepalive=True)
        writer.write(sent)
        answers.append(await _answer(reader))
    writer.close()
    await writer.wait_closed()
    return answers


async def _answer(reader: asyncio.StreamReader) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    if "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
    else:  # it ends with the connection
        body = await reader.read()
    return Answer(int(status.split()[1]), headers, body)


def right_request(serve: Serve) -> Request:
    """What the load generator sends."""
    return Request(**json.loads(json.dumps(serve.client_requests()[0])))


@contextlib.asynccontextmanager
async def answering(
    answer: Callable[[web.BaseRequest], web.StreamResponse | None],
) -> AsyncIterator[str]:
    """Its URL while the block runs. An answer of None closes the connection instead."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        response = answer(request)
        if response is None:
            assert request.transport
            request.transport.close()
        return response or web.Response()

    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    listening = listen("127.0.0.1", 0)
    await web.SockSite(runner, listening).start()
    yield url_of(listening)
    await runner.cleanup()
