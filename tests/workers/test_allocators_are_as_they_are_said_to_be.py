"""The harness leaves glibc's malloc in its initial state, and reproducers show what it is about.

Fresh, glibc maps and unmaps asyncio's 256 KiB receive buffer at each read; once a larger block has
been freed it does so no more, and echo runs three times as fast. Nothing that we do before the
window may free one. Reproducers need nothing but the interpreter and the package in question.
"""

import ast
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from scaling.builds.settings.interpreter import KEEP_BLOCKS
from tests.support.children import (
    FREE_THREADED,
    PATIENCE_S,
    ROOT,
    Own,
    each_case,
    faults_per_operation,
    measured,
)

# A machine may stall for most of a second, and leave a shorter window no operation to divide by.
WINDOW = {"window_s": 0.8, "warmup_s": 0.1}
FEW = 0.1  # faults an operation: the heap has what is needed


@pytest.mark.slow
def test_fresh_child() -> None:
    faults = faults_per_operation(measured({"workload": "echo", **WINDOW}))
    assert faults < FEW if FREE_THREADED else faults >= 1


@pytest.mark.slow
@pytest.mark.one_build
def test_a_larger_block_freed_before_would_show(own: Own) -> None:
    frees = """
        from workers.workloads.echo import Echo
        class Theirs(Echo):
            async def setup(self, worker: Worker) -> None:
                bytearray(1 << 20)
                await super().setup(worker)
        """
    assert faults_per_operation(own.measured(frees, **WINDOW)) < FEW


FOLDER = ROOT / "results" / "reproducers"
PROGRAMS = sorted(FOLDER.glob("*.py"))
assert PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.stem)
def test_it_imports_nothing_of_ours_and_says_how_it_is_run(program: Path) -> None:
    tree = ast.parse(program.read_text())
    assert f"python3.14t {program.name} " in (ast.get_docstring(tree) or "")
    nodes = list(ast.walk(tree))
    names = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    assert names
    assert not {name.partition(".")[0] for name in names} & {"scaling", "workers", "tests"}


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the limits are glibc's")
def test_glibc_keeps_memory_once_it_has_seen_a_large_block_freed() -> None:
    """Objects without the GIL are not glibc's, so it sees none of them."""
    program = "freed_blocks.py"
    assert (figures(program, "bytes")[0] > 100) == FREE_THREADED
    assert figures(program, "block")[0] < 10
    assert figures(program, "nothing", **KEEP_BLOCKS.environment)[0] < 10


@pytest.mark.slow
@pytest.mark.measures
@pytest.mark.free_threaded
def test_pages_of_large_objects_pile_up_without_the_gil() -> None:
    def grown_mib(threads: int, size_bytes: int) -> float:
        return figures("large_objects.py", str(threads), str(size_bytes))[0]

    more_than_cpus = 2 * (os.cpu_count() or 1)  # so that some of them wait for a CPU
    assert max(grown_mib(1, 132_000), grown_mib(more_than_cpus, 130_000)) < 10.0
    assert grown_mib(more_than_cpus, 132_000) > 10.0


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.one_build
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="PSS is Linux's")
def test_forked_processes_copy_the_objects_that_they_read() -> None:
    """Also if gc.freeze() keeps the collector from writing to them."""
    assert grown_by_reading("forked", "freeze") > 1.5
    assert grown_by_reading("threads") < 1.1


@pytest.mark.slow
@pytest.mark.one_build
def test_connections_are_dealt_evenly_by_an_acceptor_alone() -> None:
    assert figures("shared_listener.py", "acceptor") == [1.0, 1.0]
    assert figures("shared_listener.py", "shared")[1] > 1.0


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.measures
@pytest.mark.free_threaded
def test_the_free_threaded_collector_stops_others_for_longer_the_more_is_alive() -> None:
    """With the GIL the longest stop is a wait for the lock, whatever is alive."""
    few_ms, of_few = figures("collector_stops.py", "100000")
    many_ms, of_many = figures("collector_stops.py", "3000000")
    assert of_few > 3 * of_many > 0
    assert many_ms > few_ms


@pytest.mark.slow
@each_case(("model", "answers"), [("threads", 0), ("processes", 20)])
def test_a_crash_ends_all_threads_of_a_process_and_no_other_process(
    model: str, answers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where a core file may be written
    assert figures("worker_crash.py", model) == [answers]


def grown_by_reading(*how: str) -> float:
    before, after = figures("forked_reads.py", *how)
    return after / before


def figures(program: str, *arguments: str, **variables: str) -> list[float]:
    """The figures that a reproducer prints, each after its name."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / program), *arguments],
        env={"PATH": os.environ["PATH"], **variables},
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    return list(map(float, done.stdout.split()[1::2]))
