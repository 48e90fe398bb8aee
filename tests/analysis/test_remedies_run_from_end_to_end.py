"""`scaling remedies` measures each remedy over none, and ends with the ordinary answer."""

import re
from pathlib import Path

import pytest

from scaling.analysis.table.load import read_journal
from scaling.journal.record import Cell
from scaling.study.load import calibrations_for
from tests.support.cli import BUILD, Command


def test_rates_are_those_of_the_arm_without_a_remedy() -> None:
    """A calibration of every arm would take longer than the study."""
    at_half = {"rate_per_s": "50%"}
    cells = [
        Cell(
            workload="serve",
            loop="asyncio",
            arm=arm,
            model="threads",
            workers=2,
            parameters=at_half,
        )
        for arm in ("3.14t", "3.14t+recv64k", "3.14t+nogc")
    ]
    (needed,) = calibrations_for(cells, lambda _: "cores")
    assert [cell.arm for cell in needed.candidates] == ["3.14t"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--workload", "echo", "--app", "shop.main:app"), "give one of them"),
        (("--app", "shop"), "expected package.module:name"),
        (("--study", "scale"), "--study: remedies is a study of its own"),
        (("--workload", "echo", "--arm", "3.14t,3.14t+recv32k"), "Did you mean 'recv64k'"),
        (("--workload", "echo", "--remedy", "eager"), "--remedy is gone since 2.0. Instead: --arm"),
        (("--workload", "echo", "--with-requirements", "a.txt"), "it is for an application"),
        (("--app", "shop:app", "--with-requirements", "a.txt"), "a.txt: there is no such file"),
    ],
)
def test_what_cannot_be_asked_is_said_in_a_line(
    command: Command, options: tuple[str, ...], said: str
) -> None:
    done = command("remedies", *options)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_it_runs_on_a_real_build_and_ends_with_each_over_none(
    command: Command, tmp_path: Path
) -> None:
    arms = f"{BUILD},{BUILD}+recv64k,{BUILD}+eager"
    short = ("--workers", "1", "--blocks", "1", "--seconds", "0.1", "--no-aa-pairs")
    done = command("remedies", "--workload", "echo", "--arm", arms, *short, "--output", "out")
    assert done.returncode == 0, done.stderr
    journal = read_journal(tmp_path / "out")
    assert journal.study.name == "remedies-echo"
    assert set(journal.frame["arm"]) == set(arms.split(","))
    for name in ("recv64k", "eager"):
        assert re.search(
            rf"^{re.escape(BUILD)}\+{name} +throughput .*too few blocks", done.stdout, re.MULTILINE
        )
