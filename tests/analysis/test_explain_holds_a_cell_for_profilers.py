"""`scaling explain` prints the commands of profilers; `--hold` runs the cell that loses most."""

import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from scaling.analysis.tables.study import Study
from scaling.journal.record import Cell
from scaling.report.explain import cell_to_profile, lost, profiler_commands
from tests.support.children import PATIENCE_S
from tests.support.cli import Command, environment
from tests.support.measured import measured_study
from tests.support.studies import FakeStudy
from tests.support.terms import IDEAL, Terms, plus


def growing(arm: str, model: str, n: int) -> Terms:
    return plus(user=2_500.0 * (n - 1)) if model == "threads" else IDEAL


def study(*arms: str, models: tuple[str, ...] = ("threads",)) -> Study:
    return FakeStudy(
        workers=(1, 2), blocks=6, ticks=2, terms=growing, arms=arms, models=models
    ).study


def profiled(found: Study) -> Cell | None:
    return cell_to_profile(found, lost(found))


def test_threads_without_the_gil_that_lose_most_are_held() -> None:
    cell = profiled(study("3.14", "3.14t", models=("threads", "processes")))
    assert cell is not None
    assert (cell.arm, cell.model, cell.workers) == ("3.14t", "threads", 2)
    assert profiled(study("node")) is None


def test_the_commands_fit_the_build_and_name_every_process() -> None:
    cell = profiled(study("3.14", "3.14t"))
    assert cell is not None
    perf, none = profiler_commands(cell, 60)
    assert perf == "perf record -F 999 -g -p PID -- sleep 30 && perf report"
    assert none == "# python -m profiling.sampling begins with 3.15"
    perf, own = profiler_commands(replace(cell, arm="3.15t"), 60, "/a b/python", [71, 72])
    assert "-p 71,72 " in perf
    assert own == "'/a b/python' -m profiling.sampling attach -a -d 30 71"


@pytest.mark.slow
def test_a_held_cell_runs_and_ends(
    tmp_path_factory: pytest.TempPathFactory, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = measured_study(tmp_path_factory)
    monkeypatch.chdir(state)
    journal = Path("out", "journal.jsonl").read_bytes()
    done = command("explain", "out")
    said = " ".join(done.stdout.split())
    assert re.search(r"scaling explain out --hold 60 runs \w+ on asyncio, 2 threads", said)

    with subprocess.Popen(
        [sys.executable, "-m", "scaling", "explain", "out", "--hold", "2"],
        cwd=state,
        env=environment(state),
        stdout=subprocess.PIPE,
        text=True,
    ) as held:
        assert held.stdout is not None
        first = next(line for line in held.stdout if "PID" in line)
        pid = int(re.findall(r"PID (\d+)", first)[0])
        child = psutil.Process(pid)
        assert "workers" in child.cmdline()
        names = Path(f"/tmp/perf-{pid}.map")
        assert "py::" in names.read_text()
        perf, own, *rest = held.stdout.read().splitlines()
        assert held.wait(PATIENCE_S) == 0
    assert f"-p {pid} " in perf
    assert own.split()[:2] == ["#", "python"]
    assert re.fullmatch(r"ended: [\d,]+ .+/s", rest[-1])
    assert not psutil.pid_exists(pid)
    assert not names.exists()
    assert Path("out", "journal.jsonl").read_bytes() == journal
