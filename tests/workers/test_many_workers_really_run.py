"""Every workload, model and loop really runs at N = 16 and 64, on however few cores there are.

What is looked for breaks with the number of workers: descriptors, ports, threads, shared memory,
time to start. Windows are short and figures mean nothing.
"""

from pathlib import Path

import pytest

from scaling.analysis.table.load import read_journal
from scaling.base.models import workers_each
from scaling.journal.reading import read_lines
from scaling.journal.record import RunLine
from tests.support.cli import Command
from workers.loops import LOOPS
from workers.worker.workload import built_in

pytestmark = [pytest.mark.slow, pytest.mark.thorough, pytest.mark.one_build]

NS = (16, 64)
ARM = "3.14t"
SMALL = [
    *("--workers", ",".join(map(str, NS)), "--blocks", "1", "--seconds", "0.2"),
    *("--scale", "0.0005", "--no-controls", "--no-aa-pairs", "--no-alternate", "--arm", ARM),
]
# Parameters with which the defaults take long or much memory, and those that need a server.
FEWER = {
    "cache": ["cache.keys=1000"],
    "gateway": ["gateway.rows=1000", "gateway.connections=2"],
    "serve-cache": ["serve-cache.keys=1000"],
    "serve-state": ["serve-state.objects=1000"],
    "state": ["state.objects=1000"],
    "state-pass": ["state-pass.objects=1000"],
    "web": ["web.rows=1000", "web.stack=starlette/loops", "web.db_connections=64"],
}
NEEDS = {"app": ("servers",), "gateway": ("servers",), "web": ("servers",)}
# A user's application must be named: `scaling app` has tests of its own.
NOT_ALONE = {"app"}
PER_PROCESS = ("processes", "forked")
IN_INTERPRETERS = ("compute", "echo", "primitives", "spawn")  # which import what loads there
WORKLOADS = [name for name in built_in() if name not in NOT_ALONE]


def other_model(number: int, workload: str, loop: str) -> str:
    if workload in IN_INTERPRETERS and loop in ("asyncio", "trio"):
        return "interpreters"
    return PER_PROCESS[number % len(PER_PROCESS)]


# Every workload and every loop in threads and under one more model, these in turn.
PLACES = [(name, "asyncio") for name in WORKLOADS] + [("spawn", loop) for loop in LOOPS]
CASES = [
    pytest.param(
        name,
        loop,
        ["threads", other_model(number, name, loop)],
        marks=pytest.mark.needs(*NEEDS.get(name, ())),
        id=f"{name} on {loop}",
    )
    for number, (name, loop) in enumerate(PLACES)
    if (name, loop) != ("spawn", "asyncio") or number < len(WORKLOADS)
]
# 16 workers as 4 x 4, and 64 as 16 x 4: windowed, finite and served.
MIXED = ("mixed:4", "mixed-forked:4")
CASES += [
    pytest.param(name, "asyncio", ["threads", *MIXED], id=f"{name} mixed")
    for name in ("echo", "gather", "serve")
]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(("workload", "loop", "models"), CASES)
def test_it_runs_with_16_and_64_workers(
    workload: str,
    loop: str,
    models: list[str],
    tmp_path: Path,
    command: Command,
) -> None:
    out = tmp_path / "out"
    sets = [text for each in FEWER.get(workload, []) for text in ("--set", each)]
    asked = ["--workload", workload, "--loop", loop, "--model", ",".join(models)]
    # With so many workers on few cores no run may be valid, since some never had a turn.
    done = command("run", *asked, *sets, *SMALL, "--output", str(out))
    assert (out / "journal.jsonl").exists(), done.stderr

    runs = [each for each in read_lines(read_journal(out).path, print) if isinstance(each, RunLine)]
    assert {(run.cell.model, run.cell.workers) for run in runs} >= {("threads", n) for n in NS}
    for run in runs:
        assert run.record is not None, run
        assert run.outcome == "measured", run.record.failure
        assert len(run.record.workers) == run.cell.workers
        done_by = [worker.ticks.operations[-1] for worker in run.record.workers]
        assert sum(done_by) > 0, run.cell
        assert not any(worker.errors for worker in run.record.workers), run.cell
        assert run.record.process.gil.closed is False
        each = workers_each(run.cell.model, run.cell.workers)
        threads = [worker.thread for worker in run.record.workers]
        assert threads == [divmod(index, each) for index in range(run.cell.workers)]
    asked_for = {(model, n) for model in MIXED if model in models for n in NS}
    assert asked_for <= {(run.cell.model, run.cell.workers) for run in runs}
