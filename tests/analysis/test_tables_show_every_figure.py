"""Tables show every figure with its spread, leave invalid runs out, and say which and why."""

import io
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from scaling.analysis.curves import curves
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import run_issues, sections
from scaling.analysis.table.load import Journal, read_journal
from scaling.journal.record import RunLine
from scaling.report.tables.export import markdown, summary, write_csv
from scaling.report.terminal.show import Results
from tests.support.fabricate import Made, journal, studied, with_, write


def fast_but_throttled(run: RunLine) -> RunLine:
    """The block 1 run at N = 2 is ten times as fast, and invalid."""
    if (run.block, run.cell.workers) != (1, 2) or run.record is None:
        return run
    workers = [
        with_(worker, ticks__operations=[10 * count for count in worker.ticks.operations])
        for worker in run.record.workers
    ]
    return with_(run, record__workers=workers, disturbance__throttled_s=0.5)


@pytest.fixture
def study(tmp_path: Path) -> Journal:
    return studied(tmp_path, Made(), fast_but_throttled)


def printed(study: Journal, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(Results(StudyResults.of(study)))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_an_invalid_run_is_in_no_figure(study: Journal) -> None:
    (curve,) = curves(study.frame)
    one, two, four = curve.points
    assert (one.runs, two.runs, four.runs) == (3, 2, 3)
    assert (one.left_out, two.left_out, four.left_out) == (0, 1, 0)
    assert two.throughput.n == 2
    assert two.throughput.high < 70_000
    assert two.speedup.n == 2
    assert two.speedup.point == pytest.approx(1.98, abs=0.1)
    assert two.efficiency.point == pytest.approx(two.speedup.point / 2)


def test_ratios_are_taken_inside_a_block(tmp_path: Path) -> None:
    """A machine that gets faster from block to block makes no speed-up of it."""

    def drifting(run: RunLine) -> RunLine:
        assert run.record is not None
        workers = [
            with_(w, ticks__operations=[(run.block + 1) * n for n in w.ticks.operations])
            for w in run.record.workers
        ]
        return with_(run, record__workers=workers)

    made = Made(workers=(1, 2), noise=0.0, blocks=5)
    frame = studied(tmp_path, made, drifting).frame
    (curve,) = curves(frame)
    assert curve.points[1].throughput.high > 3 * curve.points[1].throughput.low
    assert curve.points[1].speedup.high / curve.points[1].speedup.low < 1.03


def test_a_run_made_again_takes_the_place_of_the_invalid_one(tmp_path: Path) -> None:
    lines = journal(Made(workers=(1, 2), blocks=2), fast_but_throttled)
    bad = next(x for x in lines if isinstance(x, RunLine) and x.disturbance.throttled_s)
    again = with_(journal(Made(workers=(1, 2), blocks=2))[lines.index(bad)], attempt=2)
    frame = read_journal(write([*lines, again], tmp_path / "j.jsonl")).frame
    (curve,) = curves(frame)
    assert [(point.runs, point.left_out) for point in curve.points] == [(2, 0), (2, 1)]


def test_memory_is_reported_as_a_slope(tmp_path: Path) -> None:
    made = Made(models=("threads", "processes"))
    frame = studied(tmp_path, made).frame
    threads, processes = sorted(curves(frame), key=lambda curve: curve.slope.point)
    assert (threads.memory_kind, processes.memory_kind) == ("PSS", "PSS")
    assert threads.slope.point == pytest.approx(1.3 * 0.9, rel=0.2)
    assert processes.slope.point == pytest.approx(21 * 0.9, rel=0.05)
    assert threads.slope.n == 3
    assert threads.slope.unit == "MiB per extra worker"


def test_without_a_run_at_one_worker_there_is_no_speed_up(tmp_path: Path) -> None:
    frame = studied(tmp_path, Made(workers=(2, 4))).frame
    (curve,) = curves(frame)
    assert [point.speedup.n for point in curve.points] == [0, 0]
    assert [point.throughput.n for point in curve.points] == [3, 3]


@pytest.mark.parametrize("width", [80, 140])
def test_the_terminal_shows_medians_ranges_and_reasons(study: Journal, width: int) -> None:
    text = printed(study, width)
    assert max(map(len, text.splitlines())) <= width
    for needed in (
        "echo · weak sizing",
        "asyncio · 3.14t · threads",
        "MiB PSS per extra worker",
        "round trips/s",
        "4*",
        "* oversubscribed: more workers than CPUs.",
        "Medians; beside them the range of 2 or 3 runs.",
        "invalid",
        "invalid: throttled, 1 run",
        "throttled the run for 0.50 s",
    ):
        assert needed in " ".join(text.split())
    assert ("fairness" in text) == ("RSS MiB" in text) == (width == 140)
    figures = text[: text.index("Suspect and invalid runs")]
    assert "throttled" not in figures


def test_suspect_runs_are_used_and_marked(tmp_path: Path) -> None:
    def stolen(run: RunLine) -> RunLine:
        return with_(run, disturbance__steal_fraction=0.1) if run.cell.workers == 2 else run

    study = studied(tmp_path, Made(workers=(1, 2)), stolen)
    (run_issue,) = run_issues(study.frame)
    assert (run_issue.validity, run_issue.runs, run_issue.reasons) == ("suspect", 3, "machine-busy")
    text = printed(study, 140)
    assert " 3? " in text
    assert "? some of these runs are suspect: see below." in text


def test_sections_and_curves_come_in_an_order_for_readers(tmp_path: Path) -> None:
    made = Made(
        variants={
            "scrape": [{}],
            "echo": [{"payload_bytes": size} for size in (10240, 256, 1024)],
        },
        arms=("3.14t", "3.14"),
        models=("processes", "threads"),
        loops=("uvloop", "asyncio"),
        sizings=("strong", "weak"),
        workers=(1,),
        blocks=1,
        ticks=2,
    )
    study = studied(tmp_path, made)
    told = sections(study.frame, study.study)
    assert [section.title for section in told] == [
        "scrape · weak sizing",
        "scrape · strong sizing",
        *(
            f"echo · payload_bytes={size} · {sizing} sizing"
            for size in (256, 1024, 10240)
            for sizing in ("weak", "strong")
        ),
    ]
    assert [(c.key.loop, c.key.arm, c.key.model) for c in told[0].curves] == [
        (loop, arm, model)
        for loop in ("asyncio", "uvloop")
        for arm in ("3.14t", "3.14")
        for model in ("threads", "processes")
    ]
    assert told[0].operation == "stories"


def test_markdown_has_the_same_figures(study: Journal) -> None:
    text = markdown(StudyResults.of(study))
    rows = [line for line in text.splitlines() if line.startswith("| asyncio · 3.14t")]
    assert [row.split("|")[2].strip() for row in rows] == ["1", "2", r"4\*"]
    assert [row.split("|")[3].strip() for row in rows] == ["3", "2", "3"]
    (heading, *_) = (line for line in text.splitlines() if line.startswith("| curve"))
    assert {row.count("|") for row in rows} == {heading.count("|")}
    assert "| invalid | 1 | echo · weak · asyncio · 3.14t · threads · N = 2 | throttled |" in text


def test_text_from_outside_does_not_break_a_table(tmp_path: Path) -> None:
    def crash(run: RunLine) -> RunLine:
        return with_(run, outcome="crashed", record=None, exit_code=1, stderr="a | b [red] c")

    study = studied(tmp_path, Made(blocks=1), crash)
    assert r"a \| b [red] c" in markdown(StudyResults.of(study))
    assert "a | b [red] c" in printed(study, 200)


def test_csv_has_all_that_is_known_of_every_figure(study: Journal, tmp_path: Path) -> None:
    rows = summary(StudyResults.of(study))
    assert rows["workers"].tolist() == [1, 2, 4]
    assert rows["left_out"].tolist() == [0, 1, 0]
    for name in ("throughput_per_s", "speedup", "memory_mib", "mib_per_extra_worker"):
        assert (rows[f"{name}_low"] <= rows[name]).all()
        assert (rows[name] <= rows[f"{name}_high"]).all()
        assert set(rows[f"{name}_method"]) == {"median and range"}
    points = curves(study.frame)[0].points
    assert rows["throughput_per_s_spread"].tolist() == [each.throughput.spread for each in points]
    assert (rows["throughput_per_s_spread"] > 0).all()
    again = pd.read_csv(write_csv(StudyResults.of(study), tmp_path / "cells.csv"))
    assert again["throughput_per_s"].to_numpy() == pytest.approx(
        rows["throughput_per_s"].to_numpy(), rel=1e-5
    )


def test_a_fault_of_many_cells_is_printed_once(tmp_path: Path) -> None:
    def stolen(run: RunLine) -> RunLine:
        return with_(run, disturbance__steal_fraction=0.1)

    made = Made(loops=("asyncio", "uvloop"), workers=(1, 2, 4))
    study = studied(tmp_path, made, stolen)
    text = printed(study, 100)
    assert text.count("suspect: machine-busy, 18 runs") == 1
    assert "and 3 more cells" in text
    assert markdown(StudyResults.of(study)).count("| suspect | 3 |") == 6
