"""A scraping worker ends without a warning: no task pending, no socket or session unclosed."""

import json
import subprocess
import sys

import pytest

from tests.support.children import PATIENCE_S
from tests.support.servers import STRICT, environment, running_site

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

# Stops in the middle of traffic, as the host does; `-X dev -W error` make Python report leftovers.
LIVE = """
import asyncio, gc, json, sys
from workers import Worker
from workers.loops.registry import load_loop
from workers.workloads.scrape import Scrape

async def live(worker, workload):
    await workload.setup(worker)
    traffic = asyncio.create_task(workload.run(worker))
    while worker.operations < 20 and not worker.errors:
        await asyncio.sleep(0.005)
    if end == "stopped":
        worker.stop()
    else:
        traffic.cancel()
    await asyncio.wait({traffic})
    await workload.teardown(worker)
    return len(asyncio.all_tasks()) - 1

loop, end, url = sys.argv[1:]
worker, workload = Worker(0, 1, {"site": [url]}), Scrape(pages=2, parser="lexbor")
workload.load()
with asyncio.Runner(loop_factory=load_loop(loop)) as runner:
    pending = runner.run(live(worker, workload))
gc.collect()
print(json.dumps({"pending": pending, "errors": worker.error_samples, **workload.facts()}))
"""


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("end", ["stopped", "cancelled"])
def test_nothing_is_left(loop: str, end: str) -> None:
    with running_site() as url:
        done = subprocess.run(
            [sys.executable, *STRICT, "-c", LIVE, loop, end, url],
            capture_output=True,
            text=True,
            env=environment(),
            timeout=PATIENCE_S,
        )
    warnings = [line for line in done.stderr.splitlines() if " took " not in line]  # a busy machine
    assert warnings == []
    facts = json.loads(done.stdout)
    assert (facts["pending"], facts["errors"]) == (0, [])
    assert facts["http_client"].startswith("aiohttp 3.")
    assert facts["http_parser"] == "c"
    assert facts["html_parser"].startswith("selectolax ")
