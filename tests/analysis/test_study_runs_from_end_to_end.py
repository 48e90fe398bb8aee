"""One command measures, writes down, tabulates and draws; `remedies` does with its own study."""

import re
from pathlib import Path

import pandas as pd
import pytest

import scaling as package
from scaling.analysis.table.load import read_journal
from tests.support.cli import BUILD, Command
from tests.support.measured import RUNS, measured_study
from tests.support.of_the_machine import MADE_AGAIN, require_none_is_ours

pytestmark = pytest.mark.slow

RUN = ["block", "workload", "workers", "twin"]


def first_attempts(frame: pd.DataFrame) -> pd.DataFrame:
    """One attempt at each run; a second where the first was invalid or disturbed by other load."""
    require_none_is_ours(frame)
    first, again = (frame[frame["attempt"] == attempt] for attempt in (1, 2))
    assert len(first) + len(again) == len(frame)
    assert not first.duplicated(RUN).any()
    to_rerun = [bool(MADE_AGAIN & set(each)) for each in first["reasons"]]
    busy = ["machine-busy" in each for each in first["reasons"]]
    made_again, invalid_at_first, disturbed = (
        set(some[RUN].itertuples(index=False, name=None))
        for some in (again, first[to_rerun], first[busy])
    )
    assert invalid_at_first <= made_again <= invalid_at_first | disturbed
    return first


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured_study(tmp_path_factory)


def test_it_leaves_journal_tables_and_plots(measured: Path) -> None:
    out = measured / "out"
    runs = len(package.load(out))
    assert runs >= RUNS
    assert (out / "journal.jsonl").read_bytes().count(b"\n") == 1 + runs
    assert "echo" in (out / "tables.md").read_text()
    assert (out / "summary.csv").read_text().count("\n") == 1 + 3 * 2
    for suffix in ("svg", "png"):
        assert (out / "plots" / f"throughput-echo.{suffix}").stat().st_size > 1000


def test_every_run_is_measured_as_it_should_be(measured: Path) -> None:
    """Pinned and with its controls if nothing else is said."""
    journal = read_journal(measured / "out")
    frame = journal.frame
    assert len(first_attempts(frame)) == RUNS
    assert journal.study.study["pin"] is True
    assert '"pinning":[[' in (measured / "out" / "journal.jsonl").read_text()
    assert "Controls left out" not in (measured / "printed").read_text()
    ran = set(zip(frame["workload"], frame["workers"], strict=True))
    assert ran == {(name, n) for name in ("echo", "compute", "shared") for n in (1, 2)}
    frame = frame[frame["valid"]]
    assert (frame["operations"] > 0).all()
    assert (frame["errors"] == 0).all()
    assert frame["overlap"].median() == 1.0
    assert set(frame["gil_enabled"]) == {not BUILD.endswith("t")}
    assert (frame["rss_bytes"] > frame["baseline_rss_bytes"] * 0.9).all()
    assert (frame["peak_bytes"] >= frame["rss_bytes"]).all()
    losses = pd.read_csv(measured / "out" / "losses.csv")
    for _, cell in losses.groupby(["workload", "parameters", "arm", "model", "workers"]):
        by_term = cell.set_index("term")["loss_ns"]
        assert by_term.drop("all").sum() == pytest.approx(by_term["all"], rel=1e-3, abs=1)


def test_every_derived_file_is_made_again_from_the_journal_alone(
    measured: Path, tmp_path: Path, command: Command
) -> None:
    out, again = measured / "out", tmp_path / "again"
    done = command("report", str(out), "--output", "again")
    assert done.returncode == 0, done.stderr
    said = done.stdout.partition("made from it: ")[2]
    for name in ("tables.md", "summary.csv", "report.html"):
        assert (again / name).read_bytes() == (out / name).read_bytes()
        assert name in said
    drawn = {path.name: path.read_bytes() for path in (again / "plots").glob("*.svg")}
    assert drawn == {path.name: path.read_bytes() for path in (out / "plots").glob("*.svg")}
    assert f"{len(drawn)} plots" in said


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
def test_remedies_run_on_a_real_build_and_end_with_each_over_none(
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
