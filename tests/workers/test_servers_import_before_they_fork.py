"""What a server needs is imported when `serve` is loaded: before threads, and before a fork."""

import json
import subprocess
import sys

import pytest

from tests.support.children import PATIENCE_S
from tests.support.servers import environment

pytestmark = pytest.mark.slow

# A small part of FastAPI that it imports when an application starts.
LATER = {"fastapi.telemetry._runtime"}
SERVE = """
import asyncio, json, os, sys
from workers import Worker
from workers.host.inbound import Inbound, socket_of
from workers.loops.runners import runner_for
from workers.workloads.serve import Serve

serve = Serve(server=sys.argv[1])
serve.load()
worker, inbound = Worker(0, 1, {}), Inbound("port", 1)
worker.inbound = "port", socket_of(os.dup(inbound.descriptor(0)))
loaded = set(sys.modules)

async def session():
    await serve.setup(worker)
    await serve.teardown(worker)

runner_for("asyncio").run(session)
inbound.close()
print(json.dumps(sorted(set(sys.modules) - loaded)))
"""


@pytest.mark.parametrize("server", ["tcp", "aiohttp", "asgi", "fastapi"])
def test_nothing_is_imported_by_a_worker(server: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SERVE, server],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) <= LATER
