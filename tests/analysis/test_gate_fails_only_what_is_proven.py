"""`scaling gate` ends with 1 only where an interval proves that a bound is broken, or where the
controls fail; with 3 where the bound is open. Against an earlier study it shows what changed.
"""

import json
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from scaling.analysis.gate import Choice, loss
from scaling.base.errors import UsageError
from scaling.cli.commands.gate import SHARE
from scaling.journal.record import RunLine
from scaling.report.gate import FAIL, OPEN, PASS, gate, tolerated
from tests.support.cli import Command
from tests.support.runs import crashed
from tests.support.served_studies import FakeAppStudy
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
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """Gives exit code and words of the gate of a study, perhaps against another."""

    def tell(
        new: FakeStudy,
        choice: Choice | None = None,
        *,
        against: FakeStudy | None = None,
        width: int = 200,
        **asked: Any,
    ) -> tuple[int, str]:
        studies = {"new": new, "old": against or new}
        monkeypatch.setattr("scaling.report.gate.read", lambda at, _: studies[at.name].study)
        bounds = {name: asked.pop(name) for name in list(asked) if name.startswith(("min", "max"))}
        console = Console(width=width, file=StringIO(), record=True)
        old = tmp_path / "old" if against else None
        code = gate(
            tmp_path / "new", bounds, choice or {}, console, against=old, environment={}, **asked
        )
        return code, console.export_text()

    return tell


MADE = study()


@pytest.mark.parametrize(
    ("bound", "code", "ends"),
    [
        (0.8, PASS, "gate: passes: of 1 check 1 holds."),
        (0.95, FAIL, "gate: FAILS: of 1 check 1 fails."),
        (0.9, OPEN, "gate: is open: of 1 check 1 is open."),
    ],
)
def test_what_is_proven_decides(told: Told, bound: float, code: int, ends: str) -> None:
    """0.9 is what was made."""
    found, text = told(MADE, min_efficiency=bound)
    assert found == code
    assert "N = 2" in text  # the largest with a core each
    assert ends in text
    open_passes = FAIL if code == FAIL else PASS
    assert told(MADE, min_efficiency=bound, allow_open=True)[0] == open_passes


def test_what_is_open_names_a_command_that_would_decide(told: Told) -> None:
    workloads = [{"name": "echo", "workers": [1, 2]}]
    noisy = study(noise=0.03, options={"workloads": workloads})
    code, text = told(noisy, min_efficiency=0.88)
    assert code == OPEN
    found = re.search(r"(\d+) blocks would decide what is open, in about .*: (.*)", text)
    assert found
    assert int(found[1]) > 8
    assert found[2] == f"scaling run --study {noisy.journal.path.parent} --blocks {found[1]}"


@pytest.mark.parametrize(("factor", "code"), [(0.8, FAIL), (0.95, OPEN), (1.2, PASS)])
def test_a_regression_fails_where_it_is_proven(told: Told, factor: float, code: int) -> None:
    found, text = told(study(factor, seed=2), against=MADE, max_regression=0.05)
    assert found == code
    assert "throughput over OLD" in text
    assert "were not measured side by side" in text
    assert ("FAILS" in text) == (code == FAIL)


@pytest.mark.parametrize("crashing", [1, 2])
def test_a_cell_without_a_valid_run_is_an_error_and_no_pass(told: Told, crashing: int) -> None:
    def crash(run: RunLine) -> RunLine:
        return crashed(run) if run.cell.workers == crashing else run

    with pytest.raises(UsageError, match=r"no valid runs for efficiency of echo .* N = 2\."):
        told(threads(change=crash), min_efficiency=0.8)


def app(speed: float = 1.0, **made: Any) -> FakeAppStudy:
    """An application whose threads answer `speed` times the requests of processes."""
    return FakeAppStudy(answers_per_s={("3.14t", "threads"): 1_000.0 * speed}, **made)


@pytest.mark.parametrize(
    ("speed", "share", "code"), [(1.0, 0.05, PASS), (0.8, 0.05, FAIL), (0.8, 0.2, OPEN)]
)
def test_threads_may_lose_so_much(speed: float, share: float, code: int) -> None:
    """`app --tolerate` and `gate --max-loss` are one rule: the worst of its checks decides."""
    found = app(speed).study
    console = Console(file=StringIO(), record=True)
    assert tolerated(found, share, console) == code
    text = console.export_text()
    assert "--tolerate" in text
    threads_at_peak = found.cells[(found.cells["model"] == "threads") & (found.cells["rate"] == 0)]
    outcomes = set(loss(found, threads_at_peak, share)["outcome"])
    assert {PASS: "holds", FAIL: "fails", OPEN: "open"}[code] in outcomes


# ------------------------------------------------------------------------------------------- void


def test_a_void_study_fails_unless_that_is_allowed(told: Told) -> None:
    """Compute must scale on two cores; where it does not, no figure of the study is valid."""
    code, text = told(VOID, min_efficiency=0.4)
    assert code == FAIL
    assert "gate: FAILS: RESULTS is void (compute on 3.14t at N = 2: " in text
    for limits in ({"max_regression": 0.05}, {}):
        code, text = told(study(seed=2), against=VOID, **limits)
        assert code == FAIL
        assert "OLD is void" in text
    assert told(VOID, min_efficiency=0.4, allow_void=True)[0] == PASS


# ------------------------------------------------------------------------------------ what changed


def test_what_changed_is_shown_without_a_bound(told: Told, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    code, text = told(threads(0.8, seed=2), against=threads(), width=80, summary=summary)
    assert code == PASS
    assert "no bound was stated" in text
    assert max(map(len, text.splitlines())) <= 80
    rows = [line for line in summary.read_text().splitlines() if "% slower" in line]
    assert len(rows) == 2


def test_the_cells_can_be_chosen(told: Told) -> None:
    old, new = (study(variants=TWO, seed=seed) for seed in (1, 2))
    asked = {"workload": ["compute"], "workers": [1, 4]}
    code, text = told(new, asked, against=old, max_regression=0.05)
    assert code == PASS
    assert "gate: passes: of 2 checks 2 hold." in text
    assert "echo" not in text


# --------------------------------------------------------------------------------------- bad usage


@pytest.mark.parametrize(
    ("limits", "choice", "message"),
    [
        ({"min_efficiency": 0.8}, {"workload": ["scrape"]}, "which has echo"),
        ({"min_efficiency": 0.8}, {"workers": [2, 3]}, "--at 3: not in this study, which has 1, 2"),
        ({"max_loss": 0.05}, {}, "needs threads and processes"),
        ({"min_efficiency": 0.0}, {}, "can never fail"),
        ({"max_regression": 0.05}, {}, "needs a study to compare with"),
        ({}, {}, "no bound given"),
    ],
)
def test_bad_usage_is_an_error(
    told: Told, limits: dict[str, float], choice: Choice, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        told(MADE, choice, **limits)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        *(("80", "80%"), ("5", "5%")),
        *((text, "") for text in ("1.8", "200%", "900", "-1%", "most", "nan")),
    ],
)
def test_a_share_is_one_and_without_its_percent_sign_it_is_suggested(text: str, meant: str) -> None:
    flag = "--min-efficiency"
    assert SHARE.of_texts(["5%"], flag) == SHARE.of_texts(["0.05"], flag) == 0.05
    with pytest.raises(UsageError, match=re.escape(flag)) as caught:
        SHARE.of_texts([text], flag)
    assert (f"Did you mean {meant}?" in str(caught.value)) == bool(meant)


@pytest.mark.slow
def test_the_command_exits_as_it_says(tmp_path: Path, command: Command) -> None:
    study().write(tmp_path / "results")
    asked = ["gate", "results", "--workload", "echo", "--at", "2", "--min-efficiency"]
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    failed = command(*asked, "95%", "--summary", str(summary))
    assert failed.returncode == FAIL
    assert not failed.stderr
    written = summary.read_text()
    assert written.startswith("before\n")
    assert "3.14t · threads · N = 2 · efficiency\n" in written
    assert "| 0.95 | 0.9" in written
    record = json.loads(command(*asked, "90%", "--json").stdout)
    assert record["schema"] == 2
    assert (record["exit_code"], record["checks"][0]["outcome"]) == (OPEN, "open")
    assert np.isclose(record["checks"][0]["ratio"], 0.9, atol=0.02)
