"""Tables show every figure with its spread, leave invalid runs out, and say which and why."""

from dataclasses import fields, replace
from pathlib import Path

import msgspec
import pandas as pd
import pytest

from scaling.analysis.curves import curves
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import run_issues, sections
from scaling.analysis.statistics.estimate import Estimate
from scaling.journal.record import RefusedCells, StudyLine, decode_line, encode_line
from scaling.report.files import COMPARISON, SUMMARY, tables_markdown, write_tables
from scaling.report.page.render import page
from scaling.report.tables.export import markdown
from scaling.report.tables.measures import estimate_columns
from scaling.report.terminal.answer import LINES, answer_lines
from scaling.report.terminal.show import Results
from scaling.run.measure import Prepared
from scaling.study.plan.cells import Plan
from tests.support.plans import TWO_CORES, planned
from tests.support.printing import printed
from tests.support.runs import changing, crashed, throttled, with_, with_speed
from tests.support.studies import FakeStudy

stolen = changing(disturbance__steal_fraction=0.1)
STUDY = FakeStudy(
    change=lambda run: throttled(run) if (run.block, run.cell.workers) == (1, 2) else run
)


def test_ratios_are_taken_inside_a_block() -> None:
    """A machine that gets faster from block to block makes no speed-up of it."""
    drifting = FakeStudy(
        workers=(1, 2), noise=0.0, blocks=5, change=lambda run: with_speed(run, run.block + 1)
    )
    (curve,) = curves(drifting.frame)
    assert curve.points[1].throughput.high > 3 * curve.points[1].throughput.low
    assert curve.points[1].speedup.high / curve.points[1].speedup.low < 1.03


def test_memory_is_reported_as_a_slope() -> None:
    frame = FakeStudy(models=("threads", "processes")).frame
    threads, processes = sorted(curves(frame), key=lambda curve: curve.slope.point)
    assert (threads.memory_kind, processes.memory_kind) == ("PSS", "PSS")
    assert threads.slope.point == pytest.approx(1.3 * 0.9, rel=0.2)
    assert processes.slope.point == pytest.approx(21 * 0.9, rel=0.05)
    assert threads.slope.n == 3
    assert threads.slope.unit == "MiB per extra worker"


def test_without_a_run_at_one_worker_there_is_no_speed_up() -> None:
    (curve,) = curves(FakeStudy(workers=(2, 4)).frame)
    assert [point.speedup.n for point in curve.points] == [0, 0]
    assert [point.throughput.n for point in curve.points] == [3, 3]


@pytest.mark.parametrize("width", [80, 140])
def test_the_terminal_shows_medians_ranges_and_reasons(width: int) -> None:
    text = printed(Results(STUDY.results), width=width)
    for needed in (
        "echo · weak sizing",
        "asyncio · 3.14t · threads",
        "MiB PSS per extra worker",
        "round trips/s",
        "4*",
        "* oversubscribed: more workers than CPUs.",
        "Medians; beside them the range of 2 or 3 runs.",
        "invalid: throttled, 1 run",
        "throttled the run for 0.50 s",
    ):
        assert needed in " ".join(text.split())
    assert ("fairness" in text) == ("RSS MiB" in text) == (width == 140)
    assert "throttled" not in text[: text.index("Suspect and invalid runs")]


def test_suspect_runs_are_used_and_marked() -> None:
    study = FakeStudy(
        workers=(1, 2), change=lambda run: stolen(run) if run.cell.workers == 2 else run
    )
    (run_issue,) = run_issues(study.frame)
    assert (run_issue.validity, run_issue.runs, run_issue.reasons) == ("suspect", 3, "machine-busy")
    text = printed(Results(study.results), width=140)
    assert " 3? " in text
    assert "? some of these runs are suspect: see below." in text


def test_a_fault_of_many_cells_is_printed_once() -> None:
    results = FakeStudy(loops=("asyncio", "uvloop"), change=stolen).results
    text = printed(Results(results), width=100)
    assert text.count("suspect: machine-busy, 18 runs") == 1
    assert "and 3 more cells" in text
    assert markdown(results).count("| suspect | 3 |") == 6


def test_sections_and_curves_come_in_an_order_for_readers() -> None:
    study = FakeStudy(
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
    told = sections(study.frame, study.first_line)
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


def test_text_from_outside_does_not_break_a_table() -> None:
    dying = FakeStudy(blocks=1, change=lambda run: with_(crashed(run), stderr="a | b [red] c"))
    results = dying.results
    assert r"a \| b [red] c" in markdown(results)
    assert "a | b [red] c" in printed(Results(results), width=200)


def test_every_csv_file_has_the_same_columns_for_an_estimate(tmp_path: Path) -> None:
    """And those for what it depends on; nothing of an estimate is left out."""
    one = Estimate(2.0, 1.0, 3.0, "x", 8, "by hand", 0.95, 0.5)
    columns = estimate_columns("x", one)
    known = {getattr(one, each.name) for each in fields(one)}
    assert set(columns.values()) == known - {one.unit}  # which is in the name
    parts = [name.removeprefix("x") for name in columns]
    study = FakeStudy(arms=("3.14", "3.14t"), blocks=6, ticks=4, options={"scale": 0.25})
    write_tables(study.results, tmp_path)
    for file, figure in {SUMMARY: "speedup", COMPARISON: "ratio"}.items():
        rows = pd.read_csv(tmp_path / file)
        first = list(rows).index(figure)
        assert list(rows)[first : first + len(parts)] == [f"{figure}{part}" for part in parts]
        assert {*rows["scale"], *rows["controls"], *rows["study"]} == {0.25, "missing", "made"}


UNFIT = """
loops = ["asyncio", "uvloop"]
models = ["threads", "interpreters"]
[[workloads]]
name = "echo"
"""
UVLOOP = RefusedCells(
    workload="echo",
    arms=("3.14t",),
    model="interpreters",
    loop="uvloop",
    sizing="weak",
    reason="uvloop will not load there",
)
MEINHELD = RefusedCells(
    workload="web",
    arms=("3.14", "3.14t"),
    model="processes",
    loop="asyncio",
    sizing="strong",
    reason="stack=flask/meinheld: there is no release for this version | of Python",
)


def first_line(plan: Plan) -> StudyLine:
    return Prepared(plan, {}, TWO_CORES, "", "").first_line()


def test_a_journal_begins_with_what_cannot_be_run_without_a_path_of_the_user(
    tmp_path: Path,
) -> None:
    plan = planned(UNFIT)
    line = first_line(plan)
    assert line.refused == [UVLOOP]
    read = decode_line(encode_line(line))
    assert isinstance(read, StudyLine)
    assert read.refused == [UVLOOP]
    (refused,) = plan.refused
    named = msgspec.structs.replace(
        refused, reason=f"ImportError: no name 'x' in 'y' ({tmp_path}/y.py)"
    )
    (each,) = first_line(replace(plan, refused=(named,))).refused
    assert each.reason == "ImportError: no name 'x' in 'y' (y.py)"


@pytest.mark.usefixtures("unrendered")
def test_tables_page_and_answer_show_what_cannot_be_run() -> None:
    whole = FakeStudy(blocks=1, workers=(1, 2))
    results: StudyResults = replace(whole, head={"refused": [UVLOOP, MEINHELD]}).results
    row = "| web | asyncio | 3.14, 3.14t | processes | strong | stack=flask/meinheld: there is no"
    assert row in tables_markdown(results)
    shown = page(results)
    assert shown.count("What cannot be run") == 1
    assert all(each.reason in shown for each in (UVLOOP, MEINHELD))
    answer = answer_lines(results)
    assert "2 combinations cannot be run: see the tables." in answer
    assert len(answer) <= LINES
    assert "cannot be run" not in tables_markdown(whole.results)
