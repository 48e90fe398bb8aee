"""Memory of a run's processes is read by the driver: before traffic, in the window, at its peak."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from scaling.journal.record import Memory
from scaling.run.child import Child, run_child
from scaling.run.probe import Probe, cpu_s, full_memory, peak_bytes, with_descendants
from tests.support.children import QUICK, environment

pytestmark = pytest.mark.slow

MIB = 1 << 20
HUNGRY = """
    import mmap

    @dataclass
    class Theirs(Workload):
        keeps_mib: int = parameter(0, "MiB that stay")
        drops_mib: int = parameter(0, "MiB that are gone again before the window")
        grows_mib_per_s: int = parameter(0, "MiB per s that are added for as long as it runs")
        maps: str = parameter("", "a file that is mapped and read, as a library is")

        async def setup(self, worker: Worker) -> None:
            if self.maps:
                with open(self.maps, "rb") as file:
                    self.mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
                self.mapped[::4096]
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
def memory_of(theirs: Callable[[str], str], tmp_path: Path) -> Callable[..., Memory]:
    workload = theirs(HUNGRY)

    def run(**more: object) -> Memory:
        child = Child(sys.executable, environment(tmp_path))
        ending = run_child(child, {"workload": workload, **QUICK, **more})
        assert ending.outcome == "measured", ending.stderr
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


@pytest.mark.parametrize("model", ["threads", "processes"])
def test_figures_fit_together(memory_of: Callable[..., Memory], model: str) -> None:
    read = mib(memory_of(workers=2, model=model))
    assert len(read) == 5
    assert 0 < read["uss"] <= read["pss"] <= read["rss"] <= read["peak"]
    assert 0 < read["baseline"] <= read["peak"]


@pytest.mark.parametrize("model", ["threads", "processes"])
def test_figures_of_memory_that_grows_are_of_one_moment(
    memory_of: Callable[..., Memory], model: str
) -> None:
    """The window's median lies below what is held at its end."""
    memory = memory_of(workers=2, model=model, window_s=1.2, parameters={"grows_mib_per_s": 60})
    read = mib(memory)
    assert 0 < read["uss"] <= read["pss"] <= read["rss"] <= read["peak"]
    assert memory.window_rss_bytes is not None
    assert memory.window_rss_bytes / MIB < read["pss"] - 2


def test_what_a_workload_keeps_is_seen(memory_of: Callable[..., Memory]) -> None:
    without, with_it = mib(memory_of()), mib(memory_of(parameters={"keeps_mib": 50}))
    assert with_it["baseline"] - without["baseline"] == pytest.approx(0, abs=5)
    for name in ("rss", "pss", "uss", "peak"):
        assert with_it[name] - without[name] == pytest.approx(50, abs=5)


def test_what_is_gone_again_is_in_the_peak_alone(memory_of: Callable[..., Memory]) -> None:
    read = mib(memory_of(parameters={"drops_mib": 50}))
    assert read["peak"] - read["rss"] == pytest.approx(50, abs=5)


def test_every_process_counts(memory_of: Callable[..., Memory]) -> None:
    one, three = (
        mib(memory_of(workers=n, model="processes", parameters={"keeps_mib": 30})) for n in (1, 3)
    )
    # Two more of 30 MiB, and of an interpreter each.
    assert three["uss"] - one["uss"] > 60
    assert three["rss"] - one["rss"] > 60


@pytest.mark.one_build
@pytest.mark.parametrize("model", ["threads", "processes"])
def test_pss_is_the_same_whoever_else_has_interpreter_and_libraries(
    memory_of: Callable[..., Memory], library: Path, model: str
) -> None:
    def read() -> dict[str, float]:
        return mib(memory_of(workers=2, model=model, parameters={"maps": str(library)}))

    alone = read()
    with idle(*[f"import workers.host.hosting; {touches(library, 0, 40)}"] * 4):
        beside = read()
    assert beside["pss"] == pytest.approx(alone["pss"], abs=2)
    assert alone["pss"] - mib(memory_of(workers=2, model=model))["pss"] == pytest.approx(40, abs=2)


def test_workers_in_processes_share_their_interpreter(memory_of: Callable[..., Memory]) -> None:
    read = mib(memory_of(workers=2, model="processes"))
    assert read["pss"] < 0.85 * read["rss"]


def test_page_of_a_file_counts_once(library: Path) -> None:
    with idle(touches(library, 0, 0), touches(library, 0, 0)) as processes:
        without = mib_of(processes)
    parts = [(0, 30), (10, 40), (0, 40)]
    with idle(*(touches(library, *part) for part in parts)) as [one, two, _somebody_else]:
        with_it = mib_of([one, two])
    assert with_it["rss"] - without["rss"] == pytest.approx(60, abs=2)
    assert with_it["pss"] - without["pss"] == pytest.approx(40, abs=2)


def test_memory_of_its_own_counts_for_each_process() -> None:
    keeps = "kept = b'x' * (40 << 20)"
    with idle("", "") as processes:
        without = mib_of(processes)
    with idle(keeps, keeps) as processes:
        with_it = mib_of(processes)
    for name in ("rss", "pss", "uss", "peak"):
        assert with_it[name] - without[name] == pytest.approx(80, abs=2)


def test_what_a_fork_has_not_changed_counts_once() -> None:
    with idle("import os; kept = b'x' * (40 << 20); os.fork()") as [parent]:
        family = list(with_descendants([parent.pid]))
        both = mib_of(family)
    assert len(family) == 2
    assert both["rss"] > 80
    assert 40 < both["pss"] < 80


def test_pss_of_a_process_is_no_less_than_the_kernels() -> None:
    with idle("", "") as [process, _somebody_else]:
        read, kernels = mib_of([process]), process.memory_full_info()
    assert kernels.uss / MIB < read["uss"] <= read["pss"]
    assert kernels.pss / MIB < read["pss"] <= read["rss"]


def test_uss_is_what_only_one_process_of_a_run_has(library: Path) -> None:
    """A page of a file that somebody else on the machine has, too, still counts."""
    with idle("", "") as processes:
        without = mib_of(processes)
    with idle(touches(library, 0, 30), touches(library, 20, 40), touches(library, 0, 40)) as three:
        with_it = mib_of(three[:2])
    assert with_it["uss"] - without["uss"] == pytest.approx(30, abs=2)


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("scaling.run.probe.MOST_BYTES", 0),  # too much to read
        ("scaling.run.probe._bytes_in", lambda *_: {}),  # not Linux, or an old one
    ],
)
def test_pss_that_cannot_be_read_is_blank(
    monkeypatch: pytest.MonkeyPatch, what: str, instead: object
) -> None:
    monkeypatch.setattr(what, instead)
    read = full_memory([psutil.Process()])
    assert read["pss"] is None
    assert read["rss"]
    assert read["uss"]


def test_window_with_samples_has_their_median(memory_of: Callable[..., Memory]) -> None:
    assert memory_of(window_s=0.1).samples in (0, 1)  # a quarter of a second between samples
    memory = memory_of(window_s=1.2)
    assert memory.samples is not None
    assert memory.samples >= 1
    assert memory.window_rss_bytes is not None
    assert memory.window_rss_bytes == pytest.approx(memory.rss_bytes, abs=2 * MIB)


def test_peak_is_the_processs_own() -> None:
    peak, rss = peak_bytes(os.getpid()), psutil.Process().memory_info().rss
    assert peak is not None
    assert peak >= rss
    assert peak_bytes(2**22 + 1) is None


def test_process_that_is_gone_is_blank() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        here, gone = psutil.Process(), psutil.Process(process.pid)
    assert cpu_s([gone]) == 0.0
    assert cpu_s([here, gone]) > 0.0
    assert full_memory([here, gone]) == {"rss": None, "pss": None, "uss": None, "peak": None}


def test_process_that_waits_to_be_reaped_leaves_it_blank() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        read = full_memory([psutil.Process(), psutil.Process(process.pid)])
    assert (read["pss"], read["peak"]) == (None, None)


def test_child_is_nodded_at_and_helpers_count() -> None:
    ours, theirs = socket.socketpair()
    probe = Probe(ours, services_cpu_s=lambda: 1_000.0)
    probe.start()
    with theirs:
        for phase in ("imported", "closed"):
            message = {"phase": phase, "pids": [os.getpid(), 2**22 + 1]}  # one is gone already
            theirs.sendall(json.dumps(message).encode() + b"\n")
            assert theirs.recv(16) == b"{}\n"
    probe.join()
    assert set(probe.times) == set(probe.cpu_s) == {"imported", "closed"}
    assert probe.cpu_s["imported"] > 1_000.0
    memory = probe.memory(None, None)
    assert memory.baseline_rss_bytes is not None
    assert memory.rss_bytes is not None
    assert (memory.window_rss_bytes, memory.samples) == (None, 0)


def test_child_is_nodded_at_whatever_goes_wrong_with_a_reading() -> None:
    def broken() -> float:
        raise ZeroDivisionError

    ours, theirs = socket.socketpair()
    probe = Probe(ours, services_cpu_s=broken)
    probe.start()
    with theirs:
        theirs.settimeout(30)
        for message in ({"phase": "imported", "pids": [os.getpid()]}, {"stage": 7}):
            theirs.sendall(json.dumps(message).encode() + b"\n")
            assert theirs.recv(16) == b"{}\n"
    probe.join()
    assert (probe.times, probe.cpu_s) == ({}, {})


def test_what_a_phase_asks_of_the_driver_is_done_whatever_goes_wrong_with_a_reading() -> None:
    """A run that went on without its load would look measured."""
    done: list[str] = []

    def broken() -> float:
        raise ZeroDivisionError("a reading")

    def do(phase: str, message: dict[str, Any]) -> dict[str, Any]:
        done.append(phase)
        return {"never": message["nowhere"]}

    ours, theirs = socket.socketpair()
    probe = Probe(ours, services_cpu_s=broken, on_phase=do)
    probe.start()
    with theirs:
        theirs.settimeout(30)
        theirs.sendall(json.dumps({"phase": "load", "pids": [os.getpid()]}).encode() + b"\n")
        assert json.loads(theirs.recv(100)) == {"failed": "KeyError: 'nowhere'"}
    probe.join()
    assert done == ["load"]
