"""Latency under load is drawn as the tables have it: lower bounds open, unknown ones left out."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.journal.record import RunLine
from scaling.report.plots.draw import drawings, load_plots_of, loads
from scaling.report.plots.plot import LoadSubject
from scaling.report.plots.sheet import Sheet
from scaling.report.plots.style import RC
from scaling.report.tables.grid import Grid
from tests.support.drawn import runs_in
from tests.support.fabricate import write
from tests.support.served import Served, journal, studied

TWO = (("3.14t", "threads"), ("3.14", "processes"))
FAST, SLOW = 1_500.0, 900.0
MADE = Served(
    configurations=TWO,
    speeds={TWO[0]: SLOW, TWO[1]: FAST},
    workers=(1, 2),
    rates=(500.0, 800.0, 1280.0, 2000.0),
    blocks=2,
    window_s=4.0,
)


def under_load(
    folder: Path, made: Served, change: Callable[[RunLine], RunLine] | None = None
) -> LoadSubject:
    (found,) = loads(StudyResults.of(studied(folder, made, change))).values()
    return found


def drawn(about: LoadSubject) -> dict[str, Sheet]:
    with mpl.rc_context(RC):
        return {plot.name: plot.draw(about) for plot in load_plots_of(about)}


def marks(axes: Axes, name: str) -> list[tuple[float, float]]:
    """The marks with that name, as (x, value in ms), sorted."""
    lines = [each for each in axes.lines if each.get_gid() == name]
    return sorted(
        (float(x), float(y))
        for each in lines
        for x, y in zip(np.asarray(each.get_xdata()), np.asarray(each.get_ydata()), strict=True)
    )


def empty_because(axes: Axes) -> str:
    return "".join(each.get_text() for each in axes.texts if each.get_gid() == "empty")


def panel(sheet: Sheet, title: str) -> Axes:
    (found,) = [each for each in sheet.all_panels if each.get_title(loc="left") == title]
    return found


@pytest.fixture(scope="module")
def about(tmp_path_factory: pytest.TempPathFactory) -> LoadSubject:
    return under_load(tmp_path_factory.mktemp("served"), MADE)


def test_every_median_is_at_its_rate(about: LoadSubject) -> None:
    sheet = drawn(about)["latency"]
    for n in MADE.workers:
        for name, column in (("P99", "latency_p99_s"), ("P50", "latency_p50_s")):
            axes = panel(sheet, f"{name}, N = {n}")
            expected = sorted(
                (at.rate_per_s, at.point.figures[column].point * 1e3)
                for line in about.rated.on("asyncio", n)
                for at in line.at_rates
                if at.point.figures[column].n
            )
            both = sorted(marks(axes, "median") + marks(axes, "bound"))
            np.testing.assert_allclose(both, expected)
            assert axes.get_xscale() == axes.get_yscale() == "log"


def test_lower_bounds_are_open_and_the_rates_beyond_are_grey(about: LoadSubject) -> None:
    axes = panel(drawn(about)["latency"], "P99, N = 1")
    behind = {
        (line.key.arm, at.rate_per_s)
        for line in about.rated.on("asyncio", 1)
        for at in line.at_rates
        if at.is_bound
    }
    assert behind == {("3.14t", 1280.0), ("3.14t", 2000.0), ("3.14", 2000.0)}
    assert [rate for rate, _ in marks(axes, "bound")] == [1280.0, 2000.0, 2000.0]
    shades = {patch.get_gid(): patch for patch in axes.patches}
    begins = {str(name): patch.get_extents().x0 for name, patch in shades.items()}
    at = {rate: axes.transData.transform((rate, 1.0))[0] for rate in MADE.rates}
    assert at[800.0] < begins["behind-smt"] < at[1280.0] < begins["behind-oversubscribed"]
    assert begins["behind-oversubscribed"] < at[2000.0]
    quiet = panel(drawn(about)["latency"], "P99, N = 2")
    assert [patch.get_gid() for patch in quiet.patches] in ([], ["behind-smt"])


def test_what_has_too_few_requests_is_not_drawn(tmp_path: Path) -> None:
    few = under_load(tmp_path, replace(MADE, rates=(50.0, 800.0)))
    sheets = drawn(few)
    sheet = sheets["latency"]
    assert [rate for rate, _ in marks(panel(sheet, "P99, N = 1"), "median")] == [800.0, 800.0]
    assert {rate for rate, _ in marks(panel(sheet, "P50, N = 1"), "median")} == {50.0, 800.0}
    by_workers = sheets["latency-by-workers"]
    why = {each.get_title(loc="left"): empty_because(each) for each in by_workers.all_panels}
    assert why.pop("P99 at 50.0/s") == "P99 not known:\ntoo few requests in valid runs"
    assert set(why.values()) == {""}


def test_percentiles_stand_at_one_over_their_rest(about: LoadSubject) -> None:
    sheet = drawn(about)["percentiles"]
    assert "at 800 requests/s" in sheet.title
    found = marks(panel(sheet, "N = 2"), "median")
    expected = sorted(
        (1 / (1 - share), line.at(800.0).point.figures[column].point * 1e3)  # type: ignore[union-attr]
        for line in about.rated.on("asyncio", 2)
        for column, share in (
            ("latency_p50_s", 0.5),
            ("latency_p90_s", 0.9),
            ("latency_p95_s", 0.95),
            ("latency_p99_s", 0.99),
        )
    )
    np.testing.assert_allclose(found, expected)  # P99.9 needs more requests than there were


def test_latency_against_n_is_at_the_same_rate(about: LoadSubject) -> None:
    axes = panel(drawn(about)["latency-by-workers"], "P99 at 500/s")
    expected = sorted(
        (float(line.workers), line.at_rates[0].point.figures["latency_p99_s"].point * 1e3)
        for line in about.rated.lines
    )
    np.testing.assert_allclose(marks(axes, "median"), expected)


def test_objectives_are_drawn_where_they_apply(about: LoadSubject) -> None:
    sheets = drawn(replace(about, objectives_s={"latency_p99_s": [0.02]}))
    for sheet in (sheets["latency"], sheets["latency-by-workers"]):
        for axes in sheet.all_panels:
            levels = [y for _, y in marks(axes, "objective")]
            is_p99 = axes.get_title(loc="left").startswith("P99")
            assert set(levels) == ({20.0} if is_p99 else set())


def test_the_caption_says_how_it_was_loaded(about: LoadSubject) -> None:
    for sheet in drawn(about).values():
        said = sheet.description.replace("\N{NO-BREAK SPACE}", " ")
        for words in ("server tcp", "16 connections per worker", "connections dealt evenly"):
            assert words in said
        assert "windows of 4 s" in said
        assert "2 blocks" in said


def test_cores_that_are_too_few_are_in_the_caption(tmp_path: Path) -> None:
    made = replace(MADE, cores=2, generator_cpu_s=0.5e-3, busy_fraction=0.4, rates=(500.0, 800.0))
    sheet = drawn(under_load(tmp_path, made))["latency"]
    said = sheet.description.replace("\N{NO-BREAK SPACE}", " ")
    assert "shared cores: N workers gain at most ×1." in said


def test_the_tables_behind_a_picture_have_its_figures(about: LoadSubject) -> None:
    for plot in load_plots_of(about):
        for grid in plot.tables(about):
            assert grid.rows, plot.name
    (first, *_) = [plot.tables(about) for plot in load_plots_of(about)]
    for grid, n in zip(first, MADE.workers, strict=True):
        assert grid.title.endswith(f"N = {n}")
        assert p99s(grid) == [
            at.point.figures["latency_p99_s"].point * 1e3
            for rate in MADE.rates
            for line in about.rated.on("asyncio", n)
            if (at := line.at(rate))
        ]


def p99s(grid: Grid) -> list[float]:
    place = grid.headings.index("P99 latency ms")
    return [row[place].point for row in grid.rows]  # type: ignore[union-attr]


def test_throughput_of_an_open_loop_is_not_drawn(tmp_path: Path) -> None:
    results = StudyResults.of(studied(tmp_path, replace(MADE, rates=(0.0, 500.0, 800.0))))
    with mpl.rc_context(RC):
        names = list(dict(drawings(results)))
    assert "serve-closed-loop-weak-throughput" in names
    assert {name for name in names if "closed-loop" not in name} == {
        "serve-weak-latency",
        "serve-weak-percentiles",
        "serve-weak-latency-by-workers",
    }


def test_a_parameter_is_swept_by_p99(tmp_path: Path) -> None:
    policies = ("port", "shared")
    made = replace(MADE, rates=(800.0,), workers=(2,))
    studies = [journal(replace(made, parameters={"accept": policy})) for policy in policies]
    runs = [line for lines in studies for line in lines[1:]]
    found = read_journal(write([studies[0][0], *runs], tmp_path / "journal.jsonl"))
    results = StudyResults.of(found)
    with mpl.rc_context(RC):
        sheet = dict(drawings(results))["serve-weak-by-accept"]()
    assert "P99 latency by accept" in sheet.title
    frame = found.frame
    for axes, (arm, _) in zip(sheet.all_panels, TWO, strict=True):
        expected = sorted(frame.loc[frame["arm"] == arm, "latency_p99_s"] * 1e3)
        assert sorted(y for _, y in runs_in(axes)) == pytest.approx(expected)
