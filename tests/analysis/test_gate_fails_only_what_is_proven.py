"""`scaling gate` exits with 1 only where an interval proves that a bound is not met, or where the
controls fail, so that nothing can be checked.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scaling.analysis.gate_bounds import choice_of, share
from scaling.base.errors import UsageError
from scaling.journal.record import RunLine
from scaling.study.settle import scaled_to
from tests.support.children import ROOT
from tests.support.cli import Command
from tests.support.gates import gated
from tests.support.runs import crashed
from tests.support.studies import FakeStudy, Variants, threads

TWO: Variants = {"compute": [{}], "echo": [{"payload_bytes": 1024}]}
FLAT = {("3.14t", "threads", n): 1.0 for n in (1, 2)}
VOID = threads(variants=TWO, speeds=FLAT)
"""A study whose `compute` does not scale on two cores, as it must."""

type Told = Callable[..., tuple[int, str]]


def study(factor: float = 1.0, **made: Any) -> FakeStudy:
    """Threads that do `factor` times 1, 1.8 and 2.4."""
    return threads(factor, **{"workers": (1, 2, 4), **made})


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """Gives exit code and words of the gate of a study, perhaps against another."""
    return partial(gated, tmp_path)


@pytest.mark.parametrize(
    ("bound", "strict", "code", "said", "ends"),
    [
        (0.8, False, 0, "its whole interval is above 0.800", "passes: 1 of 1 check holds."),
        (0.95, False, 1, "its whole interval is below 0.950", "FAILS: 1 of 1 check fails."),
        (
            0.9,
            False,
            0,
            "its interval has 0.900 inside",
            "1 of 1 check is inconclusive; none is proven to fail",
        ),
        (0.9, True, 1, "its interval has 0.900 inside", "that fails with --strict"),
    ],
)
def test_what_is_proven_decides(
    told: Told, bound: float, strict: bool, code: int, said: str, ends: str
) -> None:
    """0.9 is what was made; the interval's width is not what fails a build, except when asked."""
    found, text = told(study(), min_efficiency=bound, strict=strict)
    assert found == code
    assert "N = 2" in text.replace("\N{NO-BREAK SPACE}", " ")  # the largest with a core each
    assert said in text
    assert ends in text
    assert "With each figure its 95 % interval over 8 blocks." in text


def test_below_six_blocks_all_is_inconclusive(told: Told) -> None:
    code, text = told(study(blocks=5), min_efficiency=0.99)
    assert code == 0
    assert "5 blocks; an interval takes 6" in text
    assert "With each figure its range of 5 runs." in text
    assert told(study(blocks=5), min_efficiency=0.5, strict=True)[0] == 1


@pytest.mark.parametrize(("factor", "code"), [(0.8, 1), (0.97, 0), (1.2, 0)])
def test_a_regression_fails_where_it_is_proven(told: Told, factor: float, code: int) -> None:
    found, text = told(study(factor, seed=2), against=study(), max_regression=0.05)
    assert found == code
    assert "throughput over OLD" in text
    assert "were not made side by side" in text
    assert ("FAILS" in text) == bool(code)
    assert "Since OLD, of " in text


@pytest.mark.parametrize("crashing", [1, 2])
def test_a_cell_without_a_valid_run_is_an_error_and_no_pass(told: Told, crashing: int) -> None:
    def crash(run: RunLine) -> RunLine:
        return crashed(run) if run.cell.workers == crashing else run

    with pytest.raises(UsageError, match=r"no valid runs for efficiency of echo .* N = 2\."):
        told(threads(change=crash), min_efficiency=0.8)


def test_many_checks_are_one_family(told: Told) -> None:
    """What fails by itself need not fail among sixty: false alarms stay below 5 %."""
    variants = {"echo": [{"payload_bytes": n} for n in range(1, 61)]}
    many = threads(variants=variants, noise=0.03)
    code, text = told(many, min_efficiency=0.9)
    assert "60 checks are one family" in text
    assert code == 0, "all are 0.9 in truth"
    highest = [point.efficiency.high for point in many.results.points.values()]
    assert any(high < 0.9 for high in highest), "and some intervals do miss it"
    assert "but so might one of 60 checks by chance" in text


def test_a_void_study_fails_since_nothing_could_be_checked(told: Told) -> None:
    """Compute must scale on two cores; where it does not, no figure of the study is valid."""
    code, text = told(VOID, min_efficiency=0.9)
    assert code == 1
    assert "gate: FAILS: nothing could be checked: RESULTS is void (compute · asyncio" in text
    for limits in ({"max_regression": 0.05}, {}):
        code, text = told(study(seed=2), against=VOID, **limits)
        assert code == 1
        assert "nothing could be checked: OLD is void" in text
    assert "compute ·" not in text.split("VOID")[0]  # a control is checked where it is named only


def test_whoever_allows_a_void_study_gets_no_proof_from_it(told: Told) -> None:
    code, text = told(VOID, min_efficiency=0.9, allow_void=True)
    assert code == 0
    assert "RESULTS is void" in text
    assert "none is proven to fail" in text
    assert told(VOID, min_efficiency=0.9, strict=True, allow_void=True)[0] == 1
    code, text = told(study(0.5, seed=2), against=VOID, max_regression=0.05, allow_void=True)
    assert code == 0
    assert "OLD is void" in text


def test_the_workflow_to_copy_fails_on_a_void_study(tmp_path: Path, command: Command) -> None:
    workflow = (ROOT / "scaling" / "publishing.md").read_text(encoding="utf-8")
    (asked,) = re.findall(r"- run: >\n((?: +\S.*\n)*? +scaling gate(?:.*\n)+?)```", workflow)
    _, *arguments = asked.split()
    for seed, name in enumerate(("before", "now")):
        replace(VOID, loops=("uvloop",), seed=seed).write(tmp_path / "results" / name)
    failed = command(*arguments)
    assert failed.returncode == 1
    assert "nothing could be checked: RESULTS is void" in failed.stdout
    assert command(*arguments, "--allow-void").returncode == 0


def test_cells_that_only_one_of_two_studies_has_are_named(told: Told) -> None:
    one, both = study(), study(loops=("asyncio", "uvloop"))
    _, text = told(both, against=one, max_regression=0.05)
    assert "Not in OLD, and not compared with it: echo · weak · uvloop" in text
    _, text = told(one, against=both, max_regression=0.05)
    assert "Only in OLD, and not checked: echo · weak · uvloop" in text
    chosen = choice_of({"loop": ["asyncio"]}, None)
    assert "Only in OLD" not in told(one, chosen, against=both, max_regression=0.05)[1]


def test_old_has_every_cell_that_new_has(told: Told) -> None:
    """Whatever is looked at in NEW: an N that is not the largest, or a control."""
    old, new = (study(variants=TWO, seed=seed) for seed in (1, 2))
    chosen = choice_of({"workload": ["compute"]}, ["1", "4"])
    code, text = told(new, chosen, against=old, max_regression=0.05)
    assert code == 0
    assert "gate: passes: 2 of 2 checks hold" in text
    assert "in OLD" not in text


def test_a_scaled_study_is_labelled(told: Told) -> None:
    _, text = told(study(options={"scale": 0.01}), min_efficiency=0.8)
    assert f"RESULTS: {scaled_to({'scale': 0.01})}" in text


@pytest.mark.parametrize(
    ("limits", "said", "at", "message"),
    [
        ({"min_efficiency": 0.8}, {"workload": ["scrape"]}, None, "which has echo"),
        ({"min_efficiency": 0.8}, {"loop": ["asyncio,uvloop"]}, None, "--loop uvloop: not in"),
        ({"min_efficiency": 0.8}, {}, ["2,3"], "--at 3: not measured; these curves have N = 1, 2"),
        ({"min_efficiency": 0.8}, {}, ["1"], "efficiency is 1 at N = 1"),
        ({"min_efficiency": 0.8}, {}, ["two"], "--at: expected numbers of workers"),
        ({"min_efficiency": 0.0}, {}, None, "can never fail"),
        ({"max_regression": 0.05}, {}, None, "needs a study to compare with"),
        ({}, {}, None, "no bound given"),
    ],
)
def test_bad_usage_is_an_error(
    told: Told,
    limits: dict[str, float],
    said: dict[str, list[str]],
    at: list[str] | None,
    message: str,
) -> None:
    with pytest.raises(UsageError, match=message):
        told(study(), choice_of(said, at), **limits)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        *(("80", "0.8"), ("5", "0.05")),
        *((text, "") for text in ("1.8", "200%", "900", "-1%", "most", "nan")),
    ],
)
def test_a_share_is_one_and_without_its_percent_sign_it_is_suggested(text: str, meant: str) -> None:
    assert share("5%", "--min-efficiency") == share("0.05", "--min-efficiency") == 0.05
    with pytest.raises(UsageError) as caught:
        share(text, "--min-efficiency")
    suggestion = f" Did you mean {meant}?" if meant else ""
    assert str(caught.value) == (
        f"gate: --min-efficiency: expected a share such as 0.8 or 5%, got '{text}'.{suggestion}"
    )


@pytest.mark.slow
def test_the_command_exits_as_it_says(tmp_path: Path, command: Command) -> None:
    study().write(tmp_path / "results")
    asked = ["gate", "results", "--workload", "echo", "--at", "2", "--min-efficiency"]
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    failed = command(*asked, "95%", "--summary", str(summary))
    assert failed.returncode == 1
    assert "FAILS" in failed.stdout
    assert not failed.stderr
    written = summary.read_text()
    assert written.startswith("before\n## Scaling gate")
    (row,) = (line for line in written.splitlines() if line.startswith("| echo · weak"))
    row = row.replace("\N{NO-BREAK SPACE}", " ")
    assert "3.14t · threads · N = 2 · efficiency | 0.950 |" in row
    assert "95 % interval over 8 blocks" in written
