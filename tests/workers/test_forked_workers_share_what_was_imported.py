"""Forked workers share the pages of what was imported before the fork, and nothing else."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scaling.journal.record import decode_description
from scaling.run.child import Child, run_child
from tests.support.children import QUICK, ask, environment, finish, measured
from workers.host.models import refusal

pytestmark = pytest.mark.slow

MIB = 1 << 20

# Its module notes who imports it; each worker notes who it is and what it has, in a line each.
TELLING = """
    SEEN = []
    HELD = b"x" * (16 << 20)
    LOG = open(os.environ["LOG"], "a", buffering=1)
    print(f"imported {os.getpid()}", file=LOG)

    @dataclass
    class Theirs(Workload):
        async def setup(self, worker: Worker) -> None:
            SEEN.append(worker.index)
            files = [f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd")]
            kinds = [os.readlink(each) for each in files if os.path.lexists(each)]
            sockets = sum(kind.startswith("socket:") for kind in kinds)
            pipes = sum(kind.startswith("pipe:") for kind in kinds)
            print("worker", os.getpid(), os.getppid(), len(SEEN), sockets, pipes, file=LOG)

        async def run(self, worker: Worker) -> None:
            while worker.running:
                await asyncio.sleep(0.001)
                worker.operations += 1
    """

# Imports that start a thread; it waits, as those of a library do.
THREADED = """
    import threading
    from workers.workloads.compute import Compute
    threading.Thread(target=threading.Event().wait, daemon=True).start()

    class Theirs(Compute):
        pass
    """


def told(theirs: Callable[[str], str], folder: Path, model: str, workers: int) -> list[list[str]]:
    """What a run of so many workers wrote, a list of words a line."""
    log = folder / "log"
    cell = {"workload": theirs(TELLING), "model": model, "workers": workers}
    measured(cell, folder, LOG=str(log))
    return [line.split() for line in log.read_text().splitlines()]


def test_modules_are_imported_once_before_the_fork(
    theirs: Callable[[str], str], tmp_path: Path
) -> None:
    (_, host), *workers = told(theirs, tmp_path, "forked", 3)
    pids = {pid for _, pid, *_ in workers}
    assert len(pids | {host}) == 4
    assert {parent for _, _, parent, *_ in workers} == {host}


def test_each_worker_has_its_own_objects_and_files(
    theirs: Callable[[str], str], tmp_path: Path
) -> None:
    """A list of the module holds the worker's own entry alone, and no sockets of others are open.

    The file that the module opened is: each line was written to it.
    """
    _, *workers = told(theirs, tmp_path, "forked", 3)
    assert {seen for _, _, _, seen, *_ in workers} == {"1"}
    assert len({tuple(each[-2:]) for each in workers}) == 1


def test_files_are_those_of_a_fresh_process(theirs: Callable[[str], str], tmp_path: Path) -> None:
    every = told(theirs, tmp_path, "processes", 2) + told(theirs, tmp_path, "forked", 2)
    assert len({tuple(each[-2:]) for each in every if each[0] == "worker"}) == 1


@pytest.mark.measures
def test_a_further_worker_takes_less_memory_than_a_fresh_process(
    theirs: Callable[[str], str], tmp_path: Path
) -> None:
    """The module holds 16 MiB, of which a fresh process has a copy of its own."""
    workload = theirs(TELLING)

    def pss_mib(model: str, workers: int) -> float:
        child = Child(sys.executable, environment(tmp_path, LOG=os.devnull))
        cell: dict[str, Any] = {"workload": workload, "model": model, "workers": workers, **QUICK}
        ending = run_child(child, cell)
        assert ending.outcome == "measured", ending.stderr
        assert ending.memory.pss_bytes is not None
        return ending.memory.pss_bytes / MIB

    fresh, forked = (pss_mib(model, 2) - pss_mib(model, 1) for model in ("processes", "forked"))
    assert fresh > 16
    assert 0 < forked < 0.5 * fresh


def test_what_imports_print_is_printed_once(theirs: Callable[[str], str], tmp_path: Path) -> None:
    workload = theirs(
        "print('imported')\nfrom workers.workloads.compute import Compute as Theirs\n"
    )
    done = finish({"workload": workload, "model": "forked", "workers": 3}, tmp_path)
    assert done.code == 0
    assert done.stderr.count("imported") == 1


def test_imports_that_start_threads_are_refused_and_the_plan_says_so(
    theirs: Callable[[str], str], tmp_path: Path
) -> None:
    workload = theirs(THREADED)
    failure = finish({"workload": workload, "model": "forked"}, tmp_path).record.failure
    assert failure is not None
    assert failure.phase == "import"
    assert failure.error.startswith("RuntimeError: imports start threads (1)")
    described = decode_description(ask(["--describe", "--workload", workload], "", tmp_path).stdout)
    reasons = {
        refusal.model: refusal.reason
        for refusal in described.workloads[workload].refusals
        if refusal.loop == "asyncio"
    }
    assert not {"threads", "processes"} & set(reasons)
    assert failure.error.endswith(reasons["forked"])
    elsewhere = [described.workloads[name] for name in described.workloads if name != workload]
    assert not [
        each
        for facts in elsewhere
        for each in facts.refusals
        if "start threads" in each.reason and each.parameters != {"kind": "frame"}  # NumPy's
    ]


def test_only_the_choice_that_starts_threads_is_refused(
    theirs: Callable[[str], str], tmp_path: Path
) -> None:
    workload = theirs(
        """
        import threading
        from workers.workloads.compute import Compute

        @dataclass
        class Theirs(Compute):
            kind: Literal["plain", "threaded", "other"] = parameter("plain", "what it loads")

            def load(self) -> None:
                if self.kind == "threaded":
                    threading.Thread(target=threading.Event().wait, daemon=True).start()
        """
    )
    described = decode_description(ask(["--describe", "--workload", workload], "", tmp_path).stdout)
    refused = [
        (each.model, each.parameters, each.reason.partition(":")[0])
        for each in described.workloads[workload].refusals
        if each.loop == "asyncio" and each.model != "interpreters"
    ]
    assert refused == [
        (
            "forked",
            {"kind": "threaded"},
            "imports start threads (1), which a forked process would not have",
        )
    ]


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_systems_without_a_safe_fork_are_refused(
    monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    assert refusal("forked") is None
    monkeypatch.setattr(sys, "platform", system)
    assert "forked workers need Linux" in (refusal("forked") or "")
