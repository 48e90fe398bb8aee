"""One run over time: clients, loops and collections on one axis, and who had too few of these."""

from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from scaling.analysis.results import StudyResults
from scaling.analysis.served.course import course_of
from scaling.journal.record import Overload, RunLine
from scaling.report.files import tables_markdown
from scaling.report.output import print_answer
from scaling.report.page.render import page
from scaling.report.plots.draw import drawings, drawn, load_plots_of, loads
from scaling.report.plots.pauses import collected_text
from scaling.report.plots.sheet import Sheet
from scaling.report.plots.style import RC
from scaling.report.tables.notes import collections_text
from tests.support.html_outline import Outline
from tests.support.printing import printed_by
from tests.support.runs import collecting, of_workers, with_
from tests.support.served_studies import FakeServedStudy

TWO = (("3.14t", "threads"), ("3.14", "processes"))
EVERY_S, PAUSE_S = 0.25, 0.06


def with_collections(run: RunLine) -> RunLine:
    """Threads are stopped sixteen times, processes never."""
    if run.cell.model == "threads":
        return collecting(run, EVERY_S, PAUSE_S)
    return collecting(run, 100.0, 0.0)


def counted(run: RunLine, collections: int) -> RunLine:
    found = with_(run, record__process__gc_collections=collections)
    return of_workers(
        found,
        lambda worker: with_(worker, process__gc_collections=0) if worker.process else worker,
    )


MADE = FakeServedStudy(
    configurations=TWO,
    workers=(2,),
    rates=(800.0,),
    blocks=3,
    window_s=4.0,
    parameters={"garbage_per_request": 50},
    change=with_collections,
)
ONE = replace(MADE, configurations=TWO[:1], blocks=1)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    """Read from a file, as courses are."""
    return StudyResults.of(MADE.read(tmp_path_factory.mktemp("study")))


def pauses(results: StudyResults) -> Sheet:
    with mpl.rc_context(RC):
        return dict(drawings(results))["serve-weak-pauses"]()


def test_it_is_the_run_with_the_longest_tail(results: StudyResults) -> None:
    frame = results.frame
    assert len(results.courses) == len(TWO)
    for cell, course in results.courses.items():
        own = frame[(frame["arm"] == cell.arm) & (frame["workers"] == cell.workers)]
        p99s = own.set_index("block")["latency_p99_s"].to_dict()
        assert p99s[course.block] == course.p99_s == max(p99s.values())


def test_spans_lag_and_latency_share_their_time(results: StudyResults) -> None:
    (course,) = [each for cell, each in results.courses.items() if cell.model == "threads"]
    assert course.window_s == pytest.approx(4.0)
    assert course.collected == 16
    assert course.collections
    (process,) = course.collections
    np.testing.assert_allclose(np.diff(process.start_s), EVERY_S)
    np.testing.assert_allclose(process.pause_s, PAUSE_S)
    assert process.is_full.all()
    assert len(course.lags) == 2
    for lag in course.lags:
        inside = [any(s <= at < s + PAUSE_S for s in process.start_s) for at in lag.at_s]
        assert (lag.lag_s[inside] <= PAUSE_S).all()
        assert (lag.lag_s[~np.array(inside)] < PAUSE_S / 2).all()


@pytest.mark.parametrize(("free_threaded", "is_full"), [(True, True), (False, False)])
def test_without_generations_every_collection_is_full(free_threaded: bool, is_full: bool) -> None:
    (run,) = ONE.runs
    assert run.record
    assert run.record.process.gc_spans
    zeros = with_(run.record.process.gc_spans, generation=[0] * 16)
    process = with_(run.record.process, free_threaded=free_threaded, gc_spans=zeros)
    course = course_of(with_(run, record__process=process), PAUSE_S)
    assert course
    assert course.collections
    assert {bool(each) for each in course.collections[0].is_full} == {is_full}


def test_collections_beyond_the_listed_ones_count() -> None:
    (run,) = ONE.runs
    course = course_of(counted(run, 1_500), PAUSE_S)
    assert course
    assert (course.collected, course.unlisted) == (1_500, 1_500 - 16)
    assert collected_text(course) == "1,500 collections, the first 16 drawn"


def test_three_rows_of_threads_beside_processes(results: StudyResults) -> None:
    sheet = pauses(results)
    assert "at 800 requests/s, N = 2" in sheet.title
    assert [len(row) for row in sheet.panels] == [2, 2, 2]
    clients, lag, collector = sheet.panels
    for row in sheet.panels:
        assert len({axes.get_ylim() for axes in row}) == 1
        assert {axes.get_xlim() for axes in row} == {(0.0, 4.0)}
    assert [axes.get_title(loc="left").split(",")[0] for axes in clients] == [
        "3.14t threads",
        "3.14 processes",
    ]
    assert [axes.get_title(loc="left") for axes in lag] == ["lag of 2 loops"] * 2
    heads = [axes.get_title(loc="left") for axes in collector]
    assert heads == ["16 collections", "no collections"]
    assert [len(axes.patches) for axes in collector] == [16, 0]
    assert "the longest P99" in sheet.description.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.usefixtures("unrendered")
def test_it_is_on_the_page_and_in_the_public_front(tmp_path: Path, results: StudyResults) -> None:
    assert drawn(MADE.read(tmp_path), "serve-weak-pauses").title
    shown = Outline(page(results)).root
    (part,) = [each for each in shown.all("section") if each.attributes.get("id") == "load"]
    assert "pauses over time" in part.words
    assert "no collections" in part.words


def test_without_a_collection_there_is_nothing_to_draw(tmp_path: Path) -> None:
    found = StudyResults.of(replace(MADE, change=None, blocks=1).read(tmp_path))
    (about,) = loads(found).values()
    assert "pauses" not in [plot.name for plot in load_plots_of(about)]


@pytest.mark.parametrize(
    ("collections", "expected"),
    [
        (0, "no collections: 2 threads on 3.14t"),
        (9, "fewer than 10 collections in a window: 2 threads on 3.14t"),
        (10, ""),
    ],
)
def test_too_few_collections_are_labelled(collections: int, expected: str) -> None:
    results = replace(ONE, change=lambda run: counted(run, collections)).results
    (section,) = results.sections
    assert collections_text(section, results) == expected
    assert ("collections" in tables_markdown(results)) == bool(expected)
    shown = printed_by(lambda to: print_answer(results, Path("x"), to), 200)
    assert ("ollections" in shown) == bool(expected)


@pytest.mark.parametrize(
    "study",
    [replace(ONE, parameters={}), replace(ONE, configurations=(("3.14t+nogc", "threads"),))],
    ids=["no garbage", "no collector"],
)
def test_where_none_is_due_nothing_is_said(study: FakeServedStudy) -> None:
    results = replace(study, change=lambda run: counted(run, 0)).results
    assert [collections_text(each, results) for each in results.sections] == [""]


def test_an_overload_is_shaded_even_where_nothing_was_collected(tmp_path: Path) -> None:
    def overloaded(run: RunLine) -> RunLine:
        planned = Overload(factor=4.0, after_s=1.0, lasts_s=2.0)
        return with_(counted(run, 0), load__overload=planned)

    results = StudyResults.of(replace(MADE, blocks=1, change=overloaded).read(tmp_path))
    assert {course.overload_s for course in results.courses.values()} == {(1.0, 3.0)}
    assert any(part.get_gid() == "overload" for part in pauses(results).figure.findobj())


@pytest.mark.parametrize("speeds", [{}, {("3.14t", "threads"): 300.0, ("3.14", "forked"): 300.0}])
def test_threads_stand_beside_processes_also_where_nothing_can_be_compared(
    speeds: dict[tuple[str, str], float], tmp_path: Path
) -> None:
    """Of many configurations the first three are drawn; a server that falls behind has no ratio."""
    models = ("processes", "forked")
    with_the_gil = ((arm, model) for arm in ("3.14", "3.14+mimalloc") for model in models)
    configurations = (*with_the_gil, ("3.14", "threads"), ("3.14t", "threads"))
    made = replace(MADE, configurations=configurations, blocks=1, answers_per_s=speeds)
    first = pauses(StudyResults.of(made.read(tmp_path))).panels[0]
    shown = [axes.get_title(loc="left").split(",")[0] for axes in first]
    assert shown[0] == "3.14t threads"
    assert {each.split()[1] for each in shown} == {"threads", *models}
