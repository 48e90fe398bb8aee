"""Arms are compared rung by rung of the ladder; the factors multiply to the headline.

Builds that differ in more than what is compared are flagged.
"""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from scaling.analysis.build_differences import build_differences
from scaling.journal.record import RunLine, StudyLine
from scaling.report.view.view import STUDY
from tests.support.runs import crashed, throttled, with_, with_speed
from tests.support.studies import FakeStudy, arm, one, where

RUNGS = ("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t")
FACTORS = {"allocator": 2.1, "build": 0.9, "GIL": 1.9}
LEVELS = (1.0, 2.1, 2.1 * 0.9, 2.1 * 0.9 * 1.9)
OF_RUNGS = {
    (arm, "threads", n): n * level for arm, level in zip(RUNGS, LEVELS, strict=True) for n in (1, 2)
}
KNOWN = FakeStudy(arms=RUNGS, workers=(1, 2), noise=0, tick_noise=0, speeds=OF_RUNGS)


def ladder(study: FakeStudy, n: int = 2) -> tuple[dict[Any, Any], pd.DataFrame]:
    """The headline ratio at that N, and its steps."""
    ratios = study.study.ratios
    return one(ratios, question="headline", workers=n), where(ratios, question="step", workers=n)


def factors(steps: pd.DataFrame) -> dict[str, float]:
    return dict(zip(steps["step"], steps["ratio"], strict=True))


@pytest.mark.parametrize("n", [1, 2])
def test_known_factors_are_found_again(n: int) -> None:
    headline, steps = ladder(KNOWN, n)
    assert factors(steps) == pytest.approx(FACTORS, rel=1e-3)
    assert headline["ratio"] == pytest.approx(LEVELS[-1], rel=1e-3)
    assert steps["arm"].tolist() == list(RUNGS[1:])
    assert steps["over_arm"].tolist() == list(RUNGS[:-1])


@pytest.mark.parametrize(
    ("arms", "names"),
    [
        (("3.14", "3.14t+gil", "3.14t"), ["allocator and build", "GIL"]),
        (("3.14", "3.14t"), ["allocator, build and GIL"]),
        (("3.14t", "3.14"), ["allocator, build and GIL"]),
    ],
)
def test_a_rung_that_is_missing_joins_its_steps(arms: tuple[str, ...], names: list[str]) -> None:
    headline, steps = ladder(FakeStudy(arms=arms, workers=(1, 2)))
    assert list(factors(steps)) == names
    assert headline["arm"] == "3.14t"


def test_a_rung_that_mostly_failed_takes_no_block_from_the_others() -> None:
    def change(run: RunLine) -> RunLine:
        return crashed(run) if run.cell.arm == "3.14+mimalloc" and run.block else run

    headline, steps = ladder(FakeStudy(arms=RUNGS, workers=(2,), blocks=8, change=change))
    assert "3.14+mimalloc" not in {*steps["arm"], *steps["over_arm"]}
    assert headline["n"] == 8


def test_an_invalid_run_takes_its_block_out_of_all_factors() -> None:
    """It would be ten times as fast; no factor may include it."""

    def change(run: RunLine) -> RunLine:
        return throttled(with_speed(run, 10)) if (run.block, run.cell.arm) == (1, "3.14t") else run

    headline, steps = ladder(replace(KNOWN, change=change))
    assert {*steps["n"], headline["n"]} == {2}
    assert factors(steps) == pytest.approx(FACTORS, rel=1e-3)


# ------------------------------------------------------------------------------------------- builds


def test_a_backport_that_the_older_version_needs_is_a_part_of_it() -> None:
    old = with_(arm("3.12"), description__python__version="3.12.7")
    packages = {"aiohttp": "3.14.5", "uvloop": "0.23.0"}

    def differences(of_old: dict[str, str], of_new: dict[str, str]) -> list[str]:
        arms = {
            "3.12": with_(old, description__packages=packages | of_old),
            "3.14": with_(arm("3.14"), description__packages=packages | of_new),
        }
        line = FakeStudy(arms=tuple(arms), head={"arms": arms}).first_line
        return list(build_differences(line, tuple(arms)))

    assert differences({"typing_extensions": "4.16.0"}, {}) == []
    assert differences({}, {"zuvloop": "0.1"}) == ["zuvloop"]


def ladder_but(**change: Any) -> StudyLine:
    """A study of builds that are alike but for a change to the free-threaded ones."""
    arms = {name: arm(name) for name in RUNGS}
    free = {name: with_(made, **change) for name, made in arms.items() if "t" in made.build}
    return FakeStudy(arms=RUNGS, head={"arms": {**arms, **free}}).first_line


def test_what_an_arm_is_meant_to_differ_in_is_no_fault() -> None:
    assert not build_differences(ladder_but())
    assert not any("builds differ" in note for note in STUDY.said(KNOWN.study))


@pytest.mark.parametrize(
    ("change", "fact", "told"),
    [
        ({"compiler": "Clang 19"}, "compiler", "GCC 12.2.0 (3.14, 3.14+mimalloc), Clang 19"),
        ({"pgo": True}, "PGO", "off (3.14, 3.14+mimalloc), on (3.14t+gil, 3.14t)"),
        ({"version": "3.14.6"}, "version of 3.14", "3.14.6 (3.14t+gil, 3.14t)"),
        ({"config_args": ["--disable-gil", "-O3"]}, "configure options", "none"),
    ],
)
def test_each_difference_is_reported_with_its_arms(
    change: dict[str, Any], fact: str, told: str
) -> None:
    line = ladder_but(**{f"description__python__{name}": each for name, each in change.items()})
    found = build_differences(line)
    assert list(found) == [fact]
    assert told in found[fact]
    study = replace(KNOWN, head={"arms": line.arms}).study
    assert any(f"{fact}: {found[fact]}" in note for note in STUDY.said(study))


def test_packages_are_part_of_it_and_what_is_not_known_is_not_compared() -> None:
    packages = {"aiohttp": "3.14.5"}
    found = build_differences(ladder_but(description__packages=packages))
    assert found == {"uvloop": "0.23.0 (3.14, 3.14+mimalloc), absent (3.14t+gil, 3.14t)"}
    assert not build_differences(ladder_but(description__python__compiler=None))
    found = build_differences(ladder_but(description=None))
    assert found == {"build": "not known (3.14t+gil, 3.14t)"}
