"""Tables show every figure with its spread, leave invalid runs out, and say which and why."""

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from scaling.base.formats import number
from scaling.journal.record import RefusedCells, RunLine, StudyLine, decode_line, encode_line
from scaling.report.output import show
from scaling.report.view.tables import FIGURES, FIRST_BYTES, OTHER_FIGURES, TIME
from scaling.run.prepare import Prepared
from tests.support.documents import page, tables_markdown
from tests.support.plans import TWO_CORES, planned
from tests.support.printing import printed_by
from tests.support.runs import changing, crashed, throttled, with_
from tests.support.served_studies import FakeServedStudy, histogram
from tests.support.studies import FakeStudy
from tests.support.terms import plus

stolen = changing(disturbance__steal_fraction=0.1)


def test_every_estimate_is_in_a_table_with_its_spread() -> None:
    study = FakeStudy(
        models=("threads", "processes"), blocks=6, ticks=4, terms=lambda *_: plus(user=300.0)
    ).study
    words = {
        " ".join(map(str, row))
        for table in (FIGURES, OTHER_FIGURES, TIME)
        for grid in table.grids(study)
        for row in grid.rows
    }
    every = " ".join(words)
    for measure, rows in study.estimates[~study.estimates["twin"]].groupby("measure"):
        factor = study.shown(str(measure)).factor
        shown = [number(factor * point) for point in rows["point"]]
        if not str(measure).startswith("factor"):  # what a factor is of is in `explain`
            assert [each for each in shown if each not in every] == [], measure


def test_first_bytes_have_a_table_where_a_study_timed_them() -> None:
    timed = changing(load__first_byte=histogram(np.full(4_000, 0.05)))
    study = FakeServedStudy(workers=(1,), rates=(400.0,), blocks=2, change=timed).study
    (grid,) = FIRST_BYTES.grids(study)
    assert [heading.text for heading in grid.headings[-2:]] == ["P50", "P99"]
    shown = [float(text.text) for row in grid.rows for text in row[-2:]]
    assert shown == pytest.approx([50.0] * len(shown), rel=0.005)
    assert grid.title in tables_markdown(study)
    assert not list(FIRST_BYTES.grids(FakeServedStudy(workers=(1,), rates=(400.0,)).study))


def test_invalid_runs_are_in_no_figure_and_suspect_ones_are_used_and_counted(
    tmp_path: Path,
) -> None:
    """The reasons are said once; text from outside does not break a table."""

    def change(run: RunLine) -> RunLine:
        if run.block == 1:
            return throttled(run)
        if (run.block, run.cell.workers) == (2, 1):
            return with_(crashed(run), stderr="a | b [red] c")
        return stolen(run) if run.cell.workers == 2 else run

    made = FakeStudy(change=change)
    made.write(tmp_path)
    text = printed_by(lambda to: show(tmp_path, to, details=True), 200)
    assert "throttled the run for 0.50 s" in text
    assert "throttled" not in text[text.index("Figures") : text.index("Suspect and invalid runs")]
    assert "Left out, invalid: 4 of 9 runs" in text
    assert "Used although other load disturbed them: 2 runs." in " ".join(text.split())
    assert "a | b [red] c" in text
    markdown = tables_markdown(made.study)
    assert r"a \| b [red] c" in markdown
    assert "other load on the machine" in markdown
    rates = made.study.estimates.query("measure == 'throughput_per_s'")
    assert dict(zip(rates["workers"], rates["n"], strict=True)) == {1: 1, 2: 2, 4: 2}


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


def test_a_journal_begins_with_what_cannot_be_run_without_a_path_of_the_user(
    tmp_path: Path,
) -> None:
    plan = planned(UNFIT)
    line = Prepared(plan, {}, TWO_CORES, "", "").first_line()
    read = decode_line(encode_line(line))
    assert isinstance(read, StudyLine)
    assert read.refused == line.refused == [UVLOOP]
    (refused,) = plan.refused
    told = f"ImportError: no name 'x' in 'y' ({tmp_path}/y.py)"
    named = replace(plan, refused=(msgspec.structs.replace(refused, reason=told),))
    (each,) = Prepared(named, {}, TWO_CORES, "", "").first_line().refused
    assert each.reason == "ImportError: no name 'x' in 'y' (y.py)"


def test_tables_page_and_answer_show_what_cannot_be_run() -> None:
    whole = FakeStudy(blocks=1, workers=(1, 2))
    study = replace(whole, head={"refused": [UVLOOP, MEINHELD]}).study
    row = "| web | asyncio · 3.14, 3.14t · processes · strong | stack=flask/meinheld: there is no"
    assert row in tables_markdown(study)
    shown = page(study, [])
    assert shown.count("<summary>What cannot be run") == 1
    assert all(each.reason in shown for each in (UVLOOP, MEINHELD))
    assert "2 combinations cannot be run: see the page." in shown
    assert "cannot be run" not in tables_markdown(whole.study)
