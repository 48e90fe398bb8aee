"""`scaling gate` exits with 1 only where an interval proves that a bound is not met, or where the
controls fail, so that nothing can be checked.
"""

import re
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from scaling.analysis.gate.checks import Limits, choice_of, share
from scaling.analysis.lookup.cells import Choice
from scaling.analysis.table.load import read_journal
from scaling.base.errors import UsageError
from scaling.journal.record import RunLine
from scaling.report.gate import gate
from scaling.study.parameters import scaled_to
from tests.support.children import ROOT
from tests.support.cli import Command
from tests.support.fabricate import Made, Variants, journal, with_, write

WORKERS = (1, 2, 4)


def study(folder: Path, factor: float = 1.0, **made: object) -> Path:
    """A study whose threads on 3.14t do `factor` times 1, 1.8 and 2.4, on two cores."""
    folder.mkdir()
    speeds = dict(zip(WORKERS, (1.0, 1.8, 2.4), strict=True))
    asked = {"blocks": 8, "workers": WORKERS, "noise": 0.005, **made}
    speed = {("3.14t", "threads", n): factor * value for n, value in speeds.items()}
    write(journal(Made(speeds=speed, **asked)), folder / "journal.jsonl")  # type: ignore[arg-type]
    return folder


def void(folder: Path, **made: object) -> Path:
    """A study whose `compute` does not scale on two cores, as it must."""
    variants: Variants = {"compute": [{}], "echo": [{"payload_bytes": 1024}]}
    speeds = {("3.14t", "threads", n): 1.0 for n in (1, 2)}
    folder.mkdir(parents=True)
    asked = {"variants": variants, "speeds": speeds, "blocks": 8, "workers": (1, 2), **made}
    write(journal(Made(**asked)), folder / "journal.jsonl")  # type: ignore[arg-type]
    return folder


def told(
    results: Path,
    limits: Limits,
    wanted: Choice | None = None,
    *,
    strict: bool = False,
    allow_void: bool = False,
) -> tuple[int, str]:
    console = Console(width=200, file=StringIO(), record=True)
    code = gate(
        results,
        limits,
        wanted or {},
        console,
        strict=strict,
        allow_void=allow_void,
        environment={},
    )
    return code, console.export_text()


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return study(tmp_path / "results")


def test_what_is_proven_to_hold_passes(results: Path) -> None:
    code, text = told(results, Limits(min_efficiency=0.8))
    assert code == 0
    assert "N = 2" in text.replace("\N{NO-BREAK SPACE}", " ")  # the largest with a core each
    assert "its whole interval is above 0.800" in text
    assert "gate: passes: 1 of 1 check holds." in text


def test_what_is_proven_to_fail_fails(results: Path) -> None:
    code, text = told(results, Limits(min_efficiency=0.95))
    assert code == 1
    assert "its whole interval is below 0.950" in text
    assert "gate: FAILS: 1 of 1 check fails." in text


def test_a_bound_inside_the_interval_is_inconclusive(results: Path) -> None:
    """0.9 is what was made; the interval's width is not what fails a build, except when asked."""
    code, text = told(results, Limits(min_efficiency=0.9))
    assert code == 0
    assert "its interval has 0.900 inside" in text
    assert "1 of 1 check is inconclusive; none is proven to fail" in text
    code, text = told(results, Limits(min_efficiency=0.9), strict=True)
    assert code == 1
    assert "that fails with --strict" in text


def test_below_six_blocks_all_is_inconclusive(tmp_path: Path) -> None:
    few = study(tmp_path / "few", blocks=5)
    code, text = told(few, Limits(min_efficiency=0.99))
    assert code == 0
    assert "5 blocks; an interval takes 6" in text
    assert told(few, Limits(min_efficiency=0.5), strict=True)[0] == 1


@pytest.mark.parametrize(("factor", "code"), [(0.8, 1), (0.97, 0), (1.2, 0)])
def test_a_regression_fails_where_it_is_proven(
    results: Path, tmp_path: Path, factor: float, code: int
) -> None:
    slower = study(tmp_path / "new", factor, seed=2)
    limits = Limits(max_regression=0.05, against=results)
    found, text = told(slower, limits)
    assert found == code
    assert "throughput over OLD" in text
    assert "were not made side by side" in text
    assert ("FAILS" in text) == bool(code)


@pytest.mark.parametrize("crashing", [1, 2])
def test_a_cell_without_a_valid_run_is_an_error_and_no_pass(tmp_path: Path, crashing: int) -> None:
    def crash(run: RunLine) -> RunLine:
        lost = with_(run, outcome="crashed", record=None, signal=11)
        return lost if run.cell.workers == crashing else run

    made = Made(blocks=8, workers=(1, 2))
    write(journal(made, crash), tmp_path / "journal.jsonl")
    with pytest.raises(UsageError, match=r"no valid runs for efficiency of echo .* N = 2\."):
        told(tmp_path, Limits(min_efficiency=0.8))


def test_many_checks_are_one_family(tmp_path: Path) -> None:
    """What fails by itself need not fail among sixty: false alarms stay below 5 %."""
    variants = {"echo": [{"payload_bytes": n} for n in range(1, 61)]}
    many = study(tmp_path / "many", variants=variants, noise=0.03, ticks=4, workers=(1, 2))
    code, text = told(many, Limits(min_efficiency=0.9))
    assert "60 checks are one family" in text
    assert code == 0, "all are 0.9 in truth"
    below = [p for p in _intervals(many) if p[1] < 0.9]
    assert below, "and some intervals do miss it"
    assert "but so might one of 60 checks by chance" in text


def _intervals(results: Path) -> list[tuple[float, float]]:
    from scaling.analysis.curves import curves

    points = [curve.points[-1].efficiency for curve in curves(read_journal(results).frame)]
    return [(point.low, point.high) for point in points]


def test_false_alarms_are_rare(tmp_path: Path) -> None:
    """Four hundred gates whose bound is the truth: no more than a few may fail."""
    from scaling.analysis.statistics.verdict import hypothesis, judge

    rng = np.random.default_rng(20261120)
    efficiencies = 0.9 * np.exp(rng.normal(0, 0.02, (400, 8)))
    fails = sum(judge([hypothesis(each / 0.9, 0.0)])[0].verdict.side == -1 for each in efficiencies)
    assert fails / 400 < 0.045  # 2.5 % and four standard errors


def test_a_void_study_fails_since_nothing_could_be_checked(tmp_path: Path) -> None:
    """Compute must scale on two cores; where it does not, no figure of the study is valid."""
    folder = void(tmp_path / "void")
    code, text = told(folder, Limits(min_efficiency=0.9))
    assert code == 1
    assert "gate: FAILS: nothing could be checked: RESULTS is void (compute · asyncio" in text
    limits = Limits(max_regression=0.05, against=folder)
    new = study(tmp_path / "new", 1.0, seed=2)
    for each in (limits, Limits(against=folder)):
        code, text = told(new, each)
        assert code == 1
        assert "nothing could be checked: OLD is void" in text
    assert "compute ·" not in text.split("VOID")[0]  # a control is checked where it is named only


def test_whoever_allows_a_void_study_gets_no_proof_from_it(tmp_path: Path) -> None:
    folder = void(tmp_path / "void")
    code, text = told(folder, Limits(min_efficiency=0.9), allow_void=True)
    assert code == 0
    assert "RESULTS is void" in text
    assert "none is proven to fail" in text
    assert told(folder, Limits(min_efficiency=0.9), strict=True, allow_void=True)[0] == 1
    limits = Limits(max_regression=0.05, against=folder)
    code, text = told(study(tmp_path / "new", 0.5, seed=2), limits, allow_void=True)
    assert code == 0
    assert "OLD is void" in text


def test_the_workflow_of_the_readme_fails_on_a_void_study(tmp_path: Path, command: Command) -> None:
    workflow = (ROOT / "results" / "README.md").read_text(encoding="utf-8")
    (asked,) = re.findall(r"- run: >\n((?: +\S.*\n)*? +scaling gate(?:.*\n)+?)```", workflow)
    _, *arguments = asked.split()
    for seed, name in enumerate(("before", "now")):
        void(tmp_path / "results" / name, loops=("uvloop",), seed=seed)
    failed = command(*arguments)
    assert failed.returncode == 1
    assert "nothing could be checked: RESULTS is void" in failed.stdout
    assert command(*arguments, "--allow-void").returncode == 0


def test_cells_that_old_does_not_have_are_named(tmp_path: Path, results: Path) -> None:
    new = study(tmp_path / "new", loops=("asyncio", "uvloop"))
    _, text = told(new, Limits(max_regression=0.05, against=results))
    assert "Not in OLD, and not compared with it: echo · weak · uvloop" in text


def test_old_has_every_cell_that_new_has(tmp_path: Path) -> None:
    """Whatever is looked at in NEW: an N that is not the largest, or a control."""
    variants: Variants = {"compute": [{}], "echo": [{"payload_bytes": 1024}]}
    old = study(tmp_path / "old", variants=variants)
    new = study(tmp_path / "new", variants=variants, seed=2)
    limits = Limits(max_regression=0.05, against=old)
    code, text = told(new, limits, choice_of({"workload": ["compute"]}, ["1", "4"]))
    assert code == 0
    assert "gate: passes: 2 of 2 checks hold" in text
    assert "in OLD" not in text


def test_cells_that_only_old_has_are_named(tmp_path: Path, results: Path) -> None:
    old = study(tmp_path / "old", loops=("asyncio", "uvloop"))
    limits = Limits(max_regression=0.05, against=old)
    _, text = told(results, limits)
    assert "Only in OLD, and not checked: echo · weak · uvloop" in text
    _, text = told(results, limits, choice_of({"loop": ["asyncio"]}, None))
    assert "Only in OLD" not in text


def test_a_scaled_study_is_labelled(tmp_path: Path) -> None:
    folder = study(tmp_path / "scaled")
    file = folder / "journal.jsonl"
    file.write_text(file.read_text().replace('"study":{', '"study":{"scale":0.01,', 1))
    _, text = told(folder, Limits(min_efficiency=0.8))
    assert f"RESULTS: {scaled_to({'scale': 0.01})}" in text


def test_what_stands_with_the_figures_is_said(tmp_path: Path, results: Path) -> None:
    few = study(tmp_path / "few", blocks=3)
    assert "With each figure its range of 3 runs." in told(few, Limits(min_efficiency=0.9))[1]
    many = told(results, Limits(min_efficiency=0.9))[1]
    assert "With each figure its 95 % interval over 8 blocks." in many


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
    results: Path,
    limits: dict[str, float],
    said: dict[str, list[str]],
    at: list[str] | None,
    message: str,
) -> None:
    with pytest.raises(UsageError, match=message):
        told(results, Limits(**limits), choice_of(said, at))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "meant"), [("80", "0.8"), ("5", "0.05"), ("1.8", ""), ("200%", ""), ("900", "")]
)
def test_a_share_without_its_percent_sign_is_suggested(text: str, meant: str) -> None:
    with pytest.raises(UsageError) as caught:
        share(text, "--min-efficiency")
    suggestion = f" Did you mean {meant}?" if meant else ""
    assert str(caught.value) == (
        f"gate: --min-efficiency: expected a share such as 0.8 or 5%, got '{text}'.{suggestion}"
    )


@pytest.mark.parametrize("text", ["5", "-1%", "most", "nan"])
def test_a_share_is_a_share(text: str) -> None:
    assert share("5%", "--max-regression") == share("0.05", "--max-regression") == 0.05
    with pytest.raises(UsageError, match="expected a share such as"):
        share(text, "--max-regression")


@pytest.mark.slow
def test_the_command_exits_as_it_says(results: Path, tmp_path: Path, command: Command) -> None:
    asked = ["gate", str(results), "--workload", "echo", "--at", "2", "--min-efficiency"]
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
    unwritten = command(*asked, "95%", "--summary", str(tmp_path))
    assert unwritten.returncode == 2
    assert "cannot be written" in unwritten.stderr
    wrong = command(*asked, "5")
    assert wrong.returncode == 2
    assert wrong.stderr.count("\n") == 1
