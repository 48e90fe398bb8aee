"""Studies of the full stack show what each part needs for a request, and how many workers do."""

from functools import cache

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.patches import Rectangle

from scaling.analysis.served.full_stack import headline_n, in_order, stacks
from scaling.journal.record import RunLine, ServiceUse
from scaling.report.plots.caption import load_text
from scaling.report.plots.full_stack import drawings
from scaling.report.plots.sheet import Sheet
from scaling.report.plots.style import RC
from scaling.report.tables.full_stack import stack_chapters
from scaling.report.terminal.answer import LINES, answer_lines
from scaling.report.terminal.answer_rows import stack_lines
from tests.support.runs import with_
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy

PER_REQUEST_S = {"nginx": 2e-3, "pgbouncer": 1e-3, "postgres": 3e-3}
LIGHT, HEAVY = "starlette/loops", "flask/gunicorn-gthread"
# Requests/s of N workers over those of one: the light one stops to rise at two.
SPEEDS = {("3.14", "processes", n): speed for n, speed in ((1, 1.0), (2, 1.9), (4, 1.9), (8, 1.8))}


# What a generator saw of some closed loop.
LOAD = (
    FakeServedStudy(
        configurations=[("3.14", "processes")], workers=[1], rates=[0], blocks=1, window_s=2.0
    )
    .runs[0]
    .load
)


def with_services(run: RunLine) -> RunLine:
    """The run with services that use CPU time in proportion to the requests, without a proxy for
    the light stack.
    """
    assert run.record
    ticks = [worker.ticks for worker in run.record.workers]
    requests = sum(each.operations[-1] - each.operations[0] for each in ticks)
    used = dict(PER_REQUEST_S)
    if run.cell.parameters["stack"] == LIGHT:
        del used["nginx"]
    services = {name: ServiceUse(window_cpu_s=each * requests) for name, each in used.items()}
    return with_(run, services=services, load=LOAD)


STUDY = FakeStudy(
    variants={
        "web": [
            {"stack": LIGHT, "proxy": "none", "pooler": "pgbouncer"},
            {"stack": HEAVY, "proxy": "nginx", "pooler": "pgbouncer"},
        ]
    },
    arms=("3.14",),
    models=("processes",),
    workers=(1, 2, 4, 8),
    cores=8,
    logical=8,
    blocks=6,
    ticks=4,
    speeds=SPEEDS,
    change=with_services,
)


@cache
def drawn() -> dict[str, Sheet]:
    with mpl.rc_context(RC):
        return {name: draw() for name, draw in drawings(STUDY.results)}


def test_the_least_cpu_time_of_all_parts_comes_first() -> None:
    found = stacks(STUDY.results.sections)
    assert headline_n(found) == 8
    (first, least), (last, most) = in_order(found, 8)
    assert (first.name, first.beside) == (LIGHT, ("pgbouncer",))
    assert (last.name, last.beside) == (HEAVY, ("nginx", "pgbouncer"))
    for point, around_s in ((least, 4e-3), (most, 6e-3)):
        application = point.figures["cpu_s_per_op"].point
        total = point.figures["stack_cpu_s_per_op"]
        assert total.point == pytest.approx(application + around_s, rel=0.05)
        assert total.coverage is not None
    assert not least.figures["proxy_cpu_s_per_op"].n
    assert most.figures["proxy_cpu_s_per_op"].point == pytest.approx(2e-3, rel=0.05)


def test_the_knee_is_where_throughput_does_not_rise() -> None:
    knees = [stack.knee for stack in stacks(STUDY.results.sections)]
    assert [knee and knee.workers for knee in knees] == [2, 2]


def test_tables_have_a_column_for_each_part() -> None:
    (chapter,) = stack_chapters(STUDY.results)
    parts, knees = chapter.grids
    assert {"proxy", "application", "pooler", "database"} <= set(parts.headings)
    assert [row[2] for row in parts.rows] == ["pgbouncer", "nginx, pgbouncer"]
    assert [row[-1] for row in knees.rows] == ["2", "2"]
    assert LIGHT in chapter.words[-1]


def test_the_answer_is_the_order_of_the_stacks() -> None:
    (line,) = (line for line in stack_lines(STUDY.results, 80) if HEAVY in line)
    assert "3.14 processes" in line
    lines = answer_lines(STUDY.results)
    assert line in lines
    assert LIGHT not in " ".join(lines)  # it has no proxy
    assert len(lines) <= LINES


def test_bars_are_cut_into_their_parts() -> None:
    assert list(drawn()) == ["web-cpu-by-part", "web-knees"]
    (bars,) = drawn()["web-cpu-by-part"].all_panels
    cut = [patch.get_gid() for patch in bars.patches]
    assert sorted(map(str, cut)) == sorted(
        [*["application", "database", "pooler"] * 2, "proxy"],
    )
    (lines,) = drawn()["web-knees"].all_panels
    knees = [line for line in lines.lines if line.get_gid() == "knee"]
    assert [np.asarray(line.get_xdata())[0] for line in knees] == [2]  # of those with all parts


def test_the_parts_of_a_bar_add_up_to_the_total() -> None:
    order = in_order(stacks(STUDY.results.sections), 8)
    for stack, point in order:
        parts_s = stack.parts_s(8)
        total_s = point.figures["stack_cpu_s_per_op"].point
        assert sum(parts_s.values()) == pytest.approx(total_s)
        assert parts_s["database"] == pytest.approx(3e-3, rel=0.05)
    (bars,) = drawn()["web-cpu-by-part"].all_panels
    ends_ms: dict[float, float] = {}
    for patch in bars.patches:
        assert isinstance(patch, Rectangle)
        end_ms = patch.get_x() + patch.get_width()
        ends_ms[patch.get_y()] = max(ends_ms.get(patch.get_y(), 0.0), end_ms)
    totals_ms = [1e3 * point.figures["stack_cpu_s_per_op"].point for _, point in order]
    assert list(ends_ms.values()) == pytest.approx(totals_ms)


def test_a_study_without_stacks_has_nothing_of_it() -> None:
    plain = FakeStudy(blocks=1).results
    assert not stack_chapters(plain)
    assert not list(drawings(plain))


def test_connections_in_total_are_those_of_the_most_workers() -> None:
    strong = FakeServedStudy(
        rates=(0,), blocks=1, connections=16, change=lambda run: with_(run, cell__sizing="strong")
    )
    (section, *_) = strong.results.sections
    assert "32 connections in total" in load_text(section, strong.results)
