"""The empty loop is subtracted from every row of `primitives`; table and plot show what is left."""

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pytest

from scaling.analysis.results import StudyResults
from scaling.journal.record import RunLine
from scaling.report.page.render import page
from scaling.report.plots import primitives as plot
from scaling.report.plots.draw import drawings
from scaling.report.plots.style import RC
from scaling.report.tables.export import markdown
from scaling.report.tables.primitives import primitives, primitives_grid
from scaling.study.questions import CPU, THROUGHPUT
from tests.support.runs import crashed, with_, with_speed
from tests.support.studies import FakeStudy

LOOP_PER_S = 1000.0  # of one worker; the loop scales with workers
# Calls by themselves, by primitive and N; the lock makes all threads wait for each other.
CALLS_PER_S = {"lock": {1: 500.0, 2: 500.0}, "json": {1: 100.0, 2: 190.0}}
ARMS = ("3.13t", "3.14t")


def planted(run: RunLine, calls: Mapping[str, Mapping[int, float]] = CALLS_PER_S) -> RunLine:
    """The run, whose every operation takes the loop's time and that of the call."""
    name, n = str(run.cell.parameters["primitive"]), run.cell.workers
    if name == "nothing":
        return run
    alone = calls[name][1] * n if run.cell.model == "processes" else calls[name][n]
    return with_speed(run, 1 / (1 / alone + 1 / (LOOP_PER_S * n)) / (LOOP_PER_S * n))


def made(**changes: object) -> FakeStudy:
    settings = {
        "variants": {"primitives": [{"primitive": name} for name in ("nothing", "lock", "json")]},
        "arms": ARMS,
        "models": ("threads", "processes"),
        "workers": (1, 2),
        "blocks": 6,
        "window_s": 20.0,  # operations are whole
        "noise": 0.0,
        "tick_noise": 0.0,
        "speeds": {(a, m, n): n for a in ARMS for m in ("threads", "processes") for n in (1, 2)},
    }
    return FakeStudy(**{"change": planted, **settings, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def results() -> StudyResults:
    return made(aa_pairs=True).results


@pytest.mark.parametrize("name", CALLS_PER_S)
@pytest.mark.parametrize("n", [1, 2])
def test_what_is_left_is_what_the_calls_take(results: StudyResults, name: str, n: int) -> None:
    frame = results.frame
    ours = frame[frame["parameters"].astype(str).str.contains(name) & (frame["workers"] == n)]
    threads = ours[ours["model"] == "threads"]
    assert len(threads) >= 12  # two arms in six blocks, and the second runs of A/A pairs
    np.testing.assert_allclose(threads[THROUGHPUT], CALLS_PER_S[name][n], rtol=0.01)
    busy = frame["cpu_busy"].iloc[0] / frame["workers"].iloc[0]
    np.testing.assert_allclose(threads[CPU], busy * n / CALLS_PER_S[name][n], rtol=0.02)


def test_the_loop_itself_is_as_measured(results: StudyResults) -> None:
    loops = results.frame[results.frame["parameters"].astype(str).str.contains("nothing")]
    np.testing.assert_allclose(loops[THROUGHPUT], LOOP_PER_S * loops["workers"], rtol=0.01)


def test_gains_and_ratios_to_processes_are_those_of_the_calls(results: StudyResults) -> None:
    (rows,) = primitives(results)
    assert (rows.workers, rows.arms) == (2, list(ARMS))
    for arm in ARMS:
        assert rows.gains["lock"][arm].point == pytest.approx(1.0, rel=0.02)
        assert rows.gains["json"][arm].point == pytest.approx(1.9, rel=0.02)
        assert rows.gains["nothing"][arm].point == pytest.approx(2.0, rel=0.02)
        assert rows.over_processes["lock"][arm].point == pytest.approx(0.5, rel=0.02)
        assert rows.over_processes["lock"][arm].verdict.word == "slower"


def test_a_block_without_the_loop_has_that_of_the_others() -> None:
    def failing(run: RunLine) -> RunLine:
        if run.block == 0 and run.cell.parameters["primitive"] == "nothing":
            return crashed(run)
        return planted(run)

    frame = made(change=failing).frame
    locks = frame[frame["parameters"].astype(str).str.contains("lock") & (frame["workers"] == 1)]
    assert 0 in set(locks["block"])
    np.testing.assert_allclose(locks[THROUGHPUT], CALLS_PER_S["lock"][1], rtol=0.01)


def test_without_its_row_nothing_is_subtracted() -> None:
    alone = made(variants={"primitives": [{"primitive": "lock"}]})
    frame = alone.frame
    one = frame[frame["workers"] == 1]
    np.testing.assert_allclose(one[THROUGHPUT], 1 / (1 / 500 + 1 / LOOP_PER_S), rtol=0.01)


def test_a_row_that_is_no_slower_than_the_loop_in_one_block_has_no_values() -> None:
    def lucky(run: RunLine) -> RunLine:
        is_lock = run.cell.parameters["primitive"] == "lock"
        return run if is_lock and run.block == 0 and run.cell.workers == 2 else planted(run)

    results = made(tick_noise=0.001, change=lucky).results
    frame = results.frame
    locks = frame[frame["parameters"].astype(str).str.contains("lock")]
    assert locks.loc[locks["workers"] == 1, THROUGHPUT].notna().all()
    # Where its luck was to be faster than the loop, all of its blocks are without a value.
    lacking = [
        of_cell[THROUGHPUT].isna()
        for _, of_cell in locks[locks["workers"] == 2].groupby(["arm", "model"], observed=True)
    ]
    assert all(each.all() or not each.any() for each in lacking)
    assert any(each.all() for each in lacking)


def test_an_invalid_run_that_is_no_slower_than_the_loop_takes_no_value_from_others() -> None:
    def disturbed(run: RunLine) -> RunLine:
        is_lock = run.cell.parameters["primitive"] == "lock"
        if not (is_lock and run.block == 0 and run.cell.workers == 2):
            return planted(run)
        return with_(with_speed(run, 2), record__process__gil__closed=True)

    frame = made(change=disturbed).frame
    locks = frame[frame["parameters"].astype(str).str.contains("lock") & (frame["workers"] == 2)]
    is_disturbed = locks["block"] == 0
    assert not locks.loc[is_disturbed, "valid"].any()
    assert locks.loc[is_disturbed, THROUGHPUT].isna().all()
    threads = locks[~is_disturbed & (locks["model"] == "threads")]
    np.testing.assert_allclose(threads[THROUGHPUT], CALLS_PER_S["lock"][2], rtol=0.01)


@pytest.mark.usefixtures("unrendered")
def test_one_table_and_one_plot_show_all_primitives_on_every_build(results: StudyResults) -> None:
    (rows,) = primitives(results)
    grid = primitives_grid(rows)
    over = [f"{arm} over processes" for arm in ARMS]
    assert grid.headings == ["primitive", *ARMS, *over]
    assert {str(row[0]) for row in grid.rows} == {"json", "lock", "nothing (the loop)"}
    assert rows.title in markdown(results)
    assert rows.title in page(results)
    with mpl.rc_context(RC):
        names = dict(drawings(results))
        sheet = names["primitives-weak-gains"]()
        assert names.keys() == {"primitives-weak-gains", "primitives-weak-by-primitive"}
    (axes,) = sheet.all_panels
    marks = [line for line in axes.lines if line.get_gid() == "ratio"]
    assert len(marks) == len(rows.gains) * len(ARMS)
    points = sorted(float(np.asarray(line.get_xdata())[0]) for line in marks)
    expected = sorted(each.point for row in rows.gains.values() for each in row.values())
    assert points == expected
    assert plot.NAME == "primitives"
