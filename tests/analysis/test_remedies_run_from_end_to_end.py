"""`scaling remedies` measures each remedy, then the best together, and prints what to paste."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scaling.journal.record import Cell
from scaling.study.definition import Options
from scaling.study.file import StudyFile, study_from
from scaling.study.load import calibrations_for
from scaling.study.plan.cells import Plan, make_plan
from tests.support.cli import BUILD, Command
from tests.support.descriptions import description
from tests.support.plans import TWO_CORES
from tests.support.studies import FakeStudy

FACTORS = {"nogc": 1.2, "recv64k": 1.3}
TOGETHER: dict[str, float] = {}  # of several, where it is not their product


@dataclass(frozen=True)
class Planned:
    plan: Plan
    requests: tuple[dict[str, Any], ...] = ()


@pytest.fixture
def fabricated(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Nothing is measured: settings multiply by `FACTORS`. Returns the arms of each study."""
    studies: list[tuple[str, ...]] = []

    @contextmanager
    def prepared(
        options: Options, _needs: object, _say: object, file: StudyFile
    ) -> Iterator[Planned]:
        study = study_from(options, running_build="3.14t", file=file)
        yield Planned(make_plan(study, dict.fromkeys(study.arms, description()), TWO_CORES))

    def measure(ready: Planned, output: Path, _display: object, *, again: bool) -> Path:
        assert not again
        arms = ready.plan.study.arms
        studies.append(arms)
        speeds = {(arm, "threads", n): n * factor(arm) for arm in arms for n in (1, 2)}
        study = FakeStudy(
            arms=arms, workers=(1, 2), blocks=8, noise=1e-3, speeds=speeds, aa_pairs=True
        )
        return study.write(output).parent

    monkeypatch.setattr("scaling.cli.remedy_steps.prepared", prepared)
    monkeypatch.setattr("scaling.cli.remedy_steps.measure", measure)
    monkeypatch.setattr("scaling.cli.remedy_steps.read_topology", lambda: TWO_CORES)
    return studies


def factor(arm: str) -> float:
    together = TOGETHER.get(arm.partition("+")[2])
    if together:
        return together
    product = 1.0
    for name in arm.split("+")[1:]:
        product *= FACTORS.get(name, 1.0)
    return product


ASKED = ("remedies", "--workload", "echo", "--output", "out")
SOME = ("--remedy", "nogc,recv64k,tlbc0,own-ssl,switch500us")


def test_the_best_are_measured_together_and_can_be_pasted(
    command: Command, fabricated: list[tuple[str, ...]]
) -> None:
    done = command(*ASKED, *SOME, "--json")
    assert done.returncode == 0, done.stderr
    assert fabricated == [
        ("3.14t", "3.14t+nogc", "3.14t+recv64k", "3.14t+tlbc0"),
        ("3.14t", "3.14t+nogc+recv64k", "3.14t+recv64k"),
    ]
    document = json.loads(done.stdout)
    assert {each["remedy"]: each["reason"] for each in document["left_out"]} == {
        "own-ssl": "no SSLContext is shared here (tls=shared has one for all workers)",
        "switch500us": "3.14t has no GIL to hand over",
    }
    assert document["best"] == ["nogc", "recv64k"]
    (together,) = [
        each
        for each in document["together"]
        if (each["remedy"], each["workers"], each["measure"]) == ("nogc+recv64k", 2, "throughput")
    ]
    assert together["ratio"] == pytest.approx(1.56, rel=0.01)
    assert together["verdict"] == "faster"
    pasted = document["paste"]["python"]
    assert any(line.startswith("gc.disable()") for line in pasted)
    assert pasted[-1].endswith("max_size = 65_536")


def test_the_best_one_alone_is_pasted_if_it_is_faster_than_all_together(
    command: Command, fabricated: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TOGETHER, "nogc+recv64k", 1.1)
    document = json.loads(command(*ASKED, *SOME, "--json").stdout)
    assert len(fabricated) == 2
    assert document["best"] == ["recv64k"]


def test_one_that_helps_is_pasted_without_a_second_study(
    command: Command, fabricated: list[tuple[str, ...]]
) -> None:
    document = json.loads(command(*ASKED, "--remedy", "nogc,eager", "--json").stdout)
    assert len(fabricated) == 1
    assert document["best"] == ["nogc"]
    assert document["together"] == []


def test_rates_are_those_of_the_arm_without_a_remedy() -> None:
    """A calibration of every arm would take longer than the study."""
    cells = [
        Cell(
            workload="serve",
            loop="asyncio",
            arm=arm,
            model="threads",
            workers=2,
            region="cores",
            parameters={"rate_per_s": "50%"},
        )
        for arm in ("3.14t", "3.14t+recv64k", "3.14t+nogc")
    ]
    (needed,) = calibrations_for(cells)
    assert [cell.arm for cell in needed.candidates] == ["3.14t"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "say what to measure: --workload echo, or --app"),
        (("--workload", "echo,compute"), "say what to measure"),
        (("--workload", "echo", "--app", "shop.main:app"), "give one of them"),
        (("--app", "shop"), "expected package.module:name"),
        (("--study", "scale"), "--study: remedies makes a study of its own"),
        (("--workload", "echo", "--remedy", "recv32k"), "Did you mean 'recv64k'"),
        (("--workload", "echo", "--remedy", "switch500us"), "none of these can be measured here"),
        (("--list", "--json"), "--list prints text"),
        (("--workload", "echo", "--with-requirements", "a.txt"), "it is for an application"),
        (("--app", "shop:app", "--with-requirements", "a.txt"), "a.txt: there is no such file"),
    ],
)
def test_what_cannot_be_asked_is_said_in_a_line(
    command: Command, fabricated: list[tuple[str, ...]], options: tuple[str, ...], said: str
) -> None:
    done = command("remedies", *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert fabricated == []


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_it_runs_on_a_real_build_and_goes_on_where_it_stopped(
    command: Command, tmp_path: Path
) -> None:
    asked = (
        *(*ASKED, "--arm", BUILD, "--remedy", "recv64k,eager", "--workers", "1", "--json"),
        *("--blocks", "1", "--seconds", "0.1", "--no-aa-pairs"),
    )
    done = command(*asked)
    assert done.returncode == 0, done.stderr
    measured = (tmp_path / "out" / "journal.jsonl").read_bytes()
    assert command(*asked).stdout == done.stdout
    assert (tmp_path / "out" / "journal.jsonl").read_bytes() == measured
    factors = json.loads(done.stdout)["factors"]
    assert {each["remedy"] for each in factors} == {"recv64k", "eager"}
    assert {each["verdict"] for each in factors} == {"inconclusive"}
