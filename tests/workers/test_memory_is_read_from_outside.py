"""Memory of a run's processes is read by the driver: before traffic, in the window, at its peak."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from scaling.journal.record import Instants, Memory
from scaling.run.child import LIMIT_S, Child, Run, run_child
from scaling.run.memory import full_memory, peak_bytes
from scaling.run.probe import ENDED, QUIET, Phase, Probe, cpu_s
from tests.support.children import MIB, Own, each_model, environment, record_of
from tests.support.serving import Looking

pytestmark = pytest.mark.slow

HUNGRY = """
    import mmap

    @dataclass
    class Theirs(Workload):
        keeps_mib: int = parameter(0, "MiB that stay")
        drops_mib: int = parameter(0, "MiB that are gone again before the window")
        grows_mib_per_s: int = parameter(0, "MiB per s that are added for as long as it runs")

        async def setup(self, worker: Worker) -> None:
            if self.drops_mib:  # past the allocator, which may keep what it is given back
                with mmap.mmap(-1, self.drops_mib << 20) as dropped:
                    for page in range(0, len(dropped), 4096):
                        dropped[page] = 1
            self.kept = b"x" * (self.keeps_mib << 20)

        async def run(self, worker: Worker) -> None:
            grown = []
            while worker.running:
                await asyncio.sleep(0.001)
                worker.operations += 1
                grown.append(b"x" * (self.grows_mib_per_s << 10))
    """


@pytest.fixture
def memory_of(own: Own) -> Callable[..., Memory]:
    def run(**cell: Any) -> Memory:
        ending = own.driven(HUNGRY, **cell)
        record_of(ending)
        return ending.memory

    return run


def mib(memory: Memory) -> dict[str, float]:
    readings = {
        "baseline": memory.baseline_rss_bytes,
        "rss": memory.rss_bytes,
        "pss": memory.pss_bytes,
        "uss": memory.uss_bytes,
        "peak": memory.peak_bytes,
    }
    return {name: value / MIB for name, value in readings.items() if value is not None}


@contextlib.contextmanager
def idle(*codes: str) -> Iterator[list[psutil.Process]]:
    """Processes of this interpreter, each of which has run a code and waits."""
    with contextlib.ExitStack() as stack:
        started = []
        for code in codes:
            command = [sys.executable, "-c", f"{code}\nprint(flush=True)\nopen(0).read()"]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
            )
            started.append(stack.enter_context(process))
        for each in started:
            assert each.stdout
            assert each.stdout.readline() == b"\n"
        yield [psutil.Process(each.pid) for each in started]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A file of 40 MiB."""
    file = tmp_path / "library"
    file.write_bytes(b"x" * 40 * MIB)
    return file


def touches(file: Path, first_mib: int, last_mib: int) -> str:
    """Code that maps a file and reads part of it."""
    opened = f"import mmap; file = open({str(file)!r}, 'rb')"
    mapped = "mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)"
    return f"{opened}; {mapped}; mapped[{first_mib << 20} : {last_mib << 20} : 4096]"


def mib_of(processes: list[psutil.Process]) -> dict[str, float]:
    read = full_memory(processes)
    return {name: value / MIB for name, value in read.items() if value is not None}


@each_model("threads", "processes")
def test_figures_fit_together_and_are_of_one_moment(
    memory_of: Callable[..., Memory], model: str
) -> None:
    """The window's median lies below what is held at its end."""
    grows = {"grows_mib_per_s": 120}
    memory = memory_of(workers=2, model=model, window_s=0.6, parameters=grows)
    read = mib(memory)
    assert len(read) == 5
    assert 0 < read["uss"] <= read["pss"] <= read["rss"] <= read["peak"]
    assert 0 < read["baseline"] <= read["peak"]
    assert memory.window_rss_bytes is not None
    assert read["baseline"] < memory.window_rss_bytes / MIB < read["rss"] - 2


@pytest.mark.one_build
def test_what_a_workload_keeps_is_seen_and_what_is_gone_is_in_the_peak_alone(
    memory_of: Callable[..., Memory],
) -> None:
    without = mib(memory_of())
    with_it = mib(memory_of(parameters={"keeps_mib": 30, "drops_mib": 80}))
    more = {"baseline": 0, "rss": 30, "pss": 30, "uss": 30, "peak": 80}
    for name, expected in more.items():
        assert with_it[name] - without[name] == pytest.approx(expected, abs=5)


@pytest.mark.one_build
def test_page_of_a_file_counts_once(library: Path) -> None:
    """USS has what only one process of a run has: a page that somebody else has, too, counts."""
    with idle(touches(library, 0, 0), touches(library, 0, 0)) as processes:
        without = mib_of(processes)
    parts = [(0, 30), (10, 40), (0, 40)]
    with idle(*(touches(library, *part) for part in parts)) as [one, two, _somebody_else]:
        with_it = mib_of([one, two])
    assert with_it["rss"] - without["rss"] == pytest.approx(60, abs=2)
    assert with_it["pss"] - without["pss"] == pytest.approx(40, abs=2)
    assert with_it["uss"] - without["uss"] == pytest.approx(20, abs=2)
    twice = f"{touches(library, 0, 30)}; first = mapped; {touches(library, 0, 30)}"
    with idle(twice) as processes:
        assert mib_of(processes)["uss"] - without["uss"] / 2 > 28


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("scaling.run.memory.MOST_BYTES", 0),  # too much to read
        ("scaling.run.memory._bytes_in", lambda *_: {}),  # not Linux, or an old one
    ],
)
@pytest.mark.one_build
def test_pss_that_cannot_be_read_is_blank(
    monkeypatch: pytest.MonkeyPatch, what: str, instead: object
) -> None:
    monkeypatch.setattr(what, instead)
    read = full_memory([psutil.Process()])
    assert read["pss"] is None
    assert read["rss"]
    assert read["uss"]


@pytest.mark.one_build
def test_processes_that_are_gone_or_wait_to_be_reaped_are_blank() -> None:
    here = psutil.Process()
    assert (peak_bytes(os.getpid()) or 0) >= here.memory_info().rss
    assert peak_bytes(2**22 + 1) is None
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        gone = psutil.Process(process.pid)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        read = full_memory([here, gone])
        assert (read["pss"], read["peak"]) == (None, None)
    assert cpu_s([gone]) == 0.0
    assert cpu_s([here, gone]) > 0.0
    assert full_memory([here, gone]) == {"rss": None, "pss": None, "uss": None, "peak": None}


PIDS = [os.getpid(), 2**22 + 1]  # one is gone already


def seen(probe: Probe, *phases: str) -> Probe:
    """The probe, once it has seen these phases of this process."""
    for each in phases:
        probe.at(Phase(each, {"pids": PIDS}))
    return probe


@pytest.mark.one_build
def test_the_probe_reads_helpers_of_a_run_and_the_median_of_its_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A reading that fails stays blank; memory of a server is read before its load, too."""
    probe = seen(Probe(other_cpu_s=lambda: 1_000.0), "imported")
    assert probe.cpu_s["imported"] > 1_000.0
    for at_ns, rss_bytes in [(1, 10), (5, 30), (7, 20), (8, 70), (9, 90)]:
        monkeypatch.setattr(probe, "_rss", lambda found=rss_bytes: found)
        monkeypatch.setattr("scaling.run.probe.time.monotonic_ns", lambda found=at_ns: found)
        seen(probe, QUIET)
    readings = iter([{"pss": 1}, {"pss": 2}])
    monkeypatch.setattr("scaling.run.probe.full_memory", lambda _: next(readings))
    memory = seen(probe, "serving", "load", "closed").memory(Instants(opened=2, closed=8))
    assert memory.baseline_rss_bytes
    assert (memory.window_rss_bytes, memory.samples) == (30, 3)
    assert (memory.idle_pss_bytes, memory.pss_bytes) == (1, 2)

    def broken() -> float:
        raise ZeroDivisionError("a reading")

    probe = seen(Probe(broken), "imported")
    assert (probe.times, probe.cpu_s) == ({}, {})


SAYS = """\
import json, os, socket, sys
asked = json.load(sys.stdin)
with socket.socket(fileno=asked["observer_fd"]) as driver:
    for line in os.environ["SAYS"].splitlines():
        driver.sendall(line.encode() + b"\\n")
        print(driver.recv(1000).decode(), end="", file=sys.stderr)
"""


@pytest.mark.one_build
def test_child_is_answered_whatever_goes_wrong() -> None:
    """What a phase asks of the driver is done: a run without its load would look measured."""
    looked: list[str] = []

    def look(phase: Phase) -> None:
        looked.extend([phase.name] * (phase.name != QUIET))
        if phase.name == "broken":
            phase.facts["nowhere"]

    says = ({"phase": "imported", "pids": PIDS[1:]}, {"phase": "broken"}, {"stage": 7})
    variables = {"SAYS": "\n".join(map(json.dumps, says))}
    child = Child(sys.executable, variables, ("-c", SAYS))
    ending = run_child(Run(child, {"warmup_s": 0, "window_s": 0}, observers=[Looking(look)]))
    answers = [json.loads(line) for line in ending.stderr.splitlines()]
    assert answers == [{}, {"failed": "KeyError: 'nowhere'"}, {"failed": "KeyError: 'phase'"}]
    assert looked == ["imported", "broken", ENDED]


@pytest.mark.one_build
@pytest.mark.parametrize("at", [QUIET, ENDED])
def test_an_observer_that_fails_while_the_child_says_nothing_ends_the_run(at: str) -> None:
    """It is no hang: the child is not asked where it is."""
    says = {QUIET: "import time; time.sleep(3600)", ENDED: ""}[at]

    def look(phase: Phase) -> None:
        if phase.name == at:
            phase.facts["nowhere"]

    child = Child(sys.executable, {}, ("-c", says))
    cell = {"warmup_s": 0, "window_s": 0}
    ending = run_child(Run(child, cell, observers=[Looking(look)]))
    assert ending.outcome == "crashed"
    assert ending.stderr.startswith("KeyError: 'nowhere'\n")
    assert ending.elapsed_s < LIMIT_S / 2
