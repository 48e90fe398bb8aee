"""Reproducers show what they say, with nothing but the interpreter and the package in question."""

import ast
import os
import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from scaling.builds.settings.allocator import KEEP_BLOCKS
from tests.support.children import PATIENCE_S

FOLDER = Path(__file__).parents[2] / "results" / "reproducers"
PROGRAMS = sorted(FOLDER.glob("*.py"))
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def test_there_are_some() -> None:
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
    assert (faults_per_round("bytes") > 100) == FREE_THREADED
    assert faults_per_round("block") < 10
    assert faults_per_round("nothing", **KEEP_BLOCKS.environment) < 10


def faults_per_round(freed_first: str, **variables: str) -> float:
    return printed("freed_blocks.py", freed_first, **variables)


@pytest.mark.slow
@pytest.mark.measures
def test_pages_of_large_objects_pile_up_only_without_the_gil() -> None:
    more_than_cpus = 2 * (os.cpu_count() or 1)  # so that some of them wait for a CPU
    assert max(grown_mib(1, 132_000), grown_mib(more_than_cpus, 130_000)) < 10.0
    assert (grown_mib(more_than_cpus, 132_000) > 10.0) == FREE_THREADED


def grown_mib(threads: int, size_bytes: int) -> float:
    return printed("large_objects.py", str(threads), str(size_bytes))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="PSS is Linux's")
def test_forked_processes_copy_the_objects_that_they_read() -> None:
    assert grown_by_reading("forked") > 1.5
    assert grown_by_reading("forked", "freeze") > 1.5
    assert grown_by_reading("threads") < 1.1
    assert grown_by_reading("forked", "array") < 1.1


def grown_by_reading(*how: str) -> float:
    before, after = figures("forked_reads.py", *how)
    return after / before


def printed(program: str, *arguments: str, **variables: str) -> float:
    """The figure that a reproducer prints first."""
    return figures(program, *arguments, **variables)[0]


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
