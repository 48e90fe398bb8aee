"""What is only slow where there are several workers is first in the profile, and so is its lock."""

import json
from pathlib import Path

import pytest

from scaling.analysis.table.load import read_journal
from scaling.journal.beside import PROFILES_FILE
from tests.support.children import BEGINNING
from tests.support.cli import BUILD, Command

pytestmark = [pytest.mark.slow, pytest.mark.measures]

PLANTED = f"""\
{BEGINNING}
import threading

LOCK = threading.Lock()


def always():
    return sum(range(400))


def slow_when_many():
    total = 0
    for number in range(80_000):
        total += number * number
    return total


def behind_a_lock():
    with LOCK:
        time.sleep(0.002)


class Theirs(Workload):
    operation = "turns"

    async def run(self, worker):
        while worker.running:
            always()
            if worker.workers > 1:
                slow_when_many()
                behind_a_lock()
            worker.operations += 1
            await asyncio.sleep(0)
"""


@pytest.mark.needs("stacks")
@pytest.mark.parametrize(
    "has_perf",
    [
        pytest.param(True, marks=pytest.mark.needs("perf"), id="perf and stacks"),
        pytest.param(False, marks=pytest.mark.thorough, id="stacks alone"),
    ],
)
def test_a_planted_function_is_named_first(
    has_perf: bool, tmp_path: Path, command: Command, undrawn: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_perf:
        monkeypatch.setattr("scaling.run.profile.perf.EVENTS", {})  # it may sample none
    (tmp_path / "planted.py").write_text(PLANTED)
    workload = ["--workload", "planted:Theirs", "--path", ".", "--loop", "asyncio"]
    small = ["--workers", "1,2", "--seconds", "0.5", "--blocks", "1", "--no-controls"]
    done = command(*("run", "--arm", BUILD, *workload, *small, "--no-aa-pairs", "--output", "out"))
    assert done.returncode == 0, done.stderr
    runs = len(read_journal(tmp_path / "out").frame)
    profile = ["--profile", "--cell", "Theirs", "--pairs", "4", "--path", "."]
    done = command("explain", "out", *profile)
    assert done.returncode == 0, done.stderr
    assert "slow_when_many (planted.py)" in done.stdout, done.stdout
    assert "pair 4 of 4 done" in done.stderr

    done = command("explain", "out", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)["profile"]
    assert "slow_when_many (planted.py)" in {each["function"] for each in shown}

    (found,) = PROFILES_FILE.read(tmp_path / "out")
    python = next(
        part for part in found.parts if part.functions and part.functions[0].kind == "python"
    )
    assert python.functions[0].function == "slow_when_many (planted.py)"
    assert python.functions[0].low > 0
    blocked = next(
        part for part in found.parts if part.functions and part.functions[0].kind == "blocked"
    )
    assert blocked.functions[0].function.startswith("behind_a_lock (planted.py)")
    for part in found.parts:
        if part.total and part.rest:
            gained = sum(each.gained_ns for each in part.functions) + part.rest.gained_ns
            assert gained == pytest.approx(part.total.gained_ns)
    text = (tmp_path / "out" / "profile.json").read_text()
    assert str(tmp_path) not in text
    assert json.loads(text)
    assert len(read_journal(tmp_path / "out").frame) == runs  # a profiled run is none of the study
