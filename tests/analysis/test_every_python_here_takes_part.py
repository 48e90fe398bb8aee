"""Any Python from 3.12 on takes part, with nothing installed, in all that needs no package."""

import json
import subprocess
import sys
from functools import cache
from itertools import product

import pytest

from scaling.builds.interpreters.find import survey
from scaling.journal.record import decode_description, decode_record
from tests.support.children import FREE_THREADED, PATIENCE_S, QUICK, environment

pytestmark = pytest.mark.slow

STANDARD_LIBRARY = (
    *("compute", "shared", "echo", "stream", "handoff"),
    *("sleep", "spawn", "cancel", "gather", "lifecycle"),
)
SMALL = {"spawn": {"tasks": 100}, "lifecycle": {"runs": 3}}
"""Sockets, tasks and loops: tests of workers run all on the two newest."""


@cache
def pythons() -> dict[str, str]:
    """Each Python of this kind, with a GIL or without one, by its build: the running one, too."""
    alike = [one for one in survey() if one.free_threaded == FREE_THREADED]
    running = f"3.{sys.version_info.minor}{'t' * FREE_THREADED}"
    return {one.build: str(one.executable) for one in reversed(alike)} | {running: sys.executable}


def child(build: str, *arguments: str, document: str = "") -> str:
    done = subprocess.run(
        [pythons()[build], "-m", "workers", *arguments],
        input=document,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_it_can_run_is_listed() -> None:
    for build in pythons():
        told = decode_description(child(build, "--describe"))
        assert told.loops["asyncio"].refused is None
        assert told.models["threads"].refused is None
        assert told.models["processes"].refused is None
        assert {name: told.workloads[name].refused for name in STANDARD_LIBRARY} == dict.fromkeys(
            STANDARD_LIBRARY
        )
        new = tuple(map(int, told.python.version.split(".")[:2])) >= (3, 14)
        assert (told.models["interpreters"].refused is None) == new


def test_it_runs_what_needs_no_package() -> None:
    for build, workload in product(pythons(), ("echo", *SMALL)):
        cell = QUICK | {"workload": workload, "workers": 2, "parameters": SMALL.get(workload, {})}
        record = decode_record(child(build, document=json.dumps(cell)))
        assert record.loop is not None
        assert record.loop.version == record.process.version
        assert sum(worker.ticks.operations[-1] for worker in record.workers) > 0
        assert all(worker.errors == 0 for worker in record.workers)
