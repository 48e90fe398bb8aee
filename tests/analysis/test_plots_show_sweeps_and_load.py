"""Plots of a swept parameter and of latency under load: every run at its value, lower bounds open,
what is not known left out.
"""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from scaling.analysis.arrays import Floats
from scaling.analysis.results import StudyResults
from scaling.journal.record import ParameterValue
from scaling.report.plots import sweep
from scaling.report.plots.draw import drawings, load_plots_of, loads
from scaling.report.plots.plot import LoadSubject
from scaling.report.plots.sheet import Sheet, width_in
from scaling.report.plots.style import RC, arm_colours
from scaling.report.plots.sweep import SIZE, places
from scaling.report.tables.grid import Grid
from tests.support.drawn import bars_in, key_of, runs_in, small_print
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy, Variants, in_memory

SIZES: Variants = {"echo": [{"payload_bytes": n} for n in (256, 1024, 2048)]}
RUNGS: Variants = {
    "shared": [{"sharing": rung} for rung in ("nothing", "attribute-read", "attribute-write")]
}
TWO = (("3.14t", "threads"), ("3.14", "processes"))
FAST, SLOW = 1_500.0, 900.0
LOADED = FakeServedStudy(
    configurations=TWO,
    answers_per_s={TWO[0]: SLOW, TWO[1]: FAST},
    rates=(500.0, 800.0, 1280.0, 2000.0),
    blocks=2,
    window_s=4.0,
)


def swept(study: FakeStudy) -> list[Sheet]:
    with mpl.rc_context(RC):
        found = sweep.drawings(study.results, study.results.sweeps)
        return [draw() for _, draw in found]


def x_of(container: ErrorbarContainer) -> Floats:
    return np.asarray(container.lines[0].get_xdata(), dtype=float)


def test_every_run_is_a_dot_at_its_value_and_every_n_a_line() -> None:
    study = FakeStudy(variants=SIZES, loops=("asyncio", "uvloop"), aa_pairs=True, ticks=4)
    (sheet,) = swept(study)
    assert sheet.title == "echo: throughput by payload_bytes"
    frame = study.frame
    for axes, loop in zip(sheet.all_panels, ("asyncio", "uvloop"), strict=True):
        rows = frame[(frame["loop"] == loop) & ~frame["twin"]]
        sizes = rows["parameters"].astype(str).str.extract(r"(\d+)", expand=False).astype(float)
        np.testing.assert_allclose(
            runs_in(axes), sorted(zip(sizes, rows["throughput_per_s"], strict=True))
        )
        lines = bars_in(axes)
        assert len(lines) == 3
        for container in lines:
            np.testing.assert_allclose(x_of(container), [256, 1024, 2048])
            assert container.lines[0].get_linestyle() == "-"
        assert sum(each.get_gid() == "noise" for each in axes.collections) == 3
        assert axes.get_title(loc="left") == loop
        assert axes.get_ylim()[0] == 0
        assert axes.get_xlabel() == "payload_bytes"
    assert sheet.all_panels[0].get_ylabel() == "round trips / s"
    assert key_of(sheet)[-3:] == ["N = 1", "N = 2", "N = 4"]


def test_the_most_workers_have_the_colour_of_the_arm_and_the_small_print_says_scaled() -> None:
    arms = ("3.14", "3.14t")
    study = FakeStudy(variants=SIZES, arms=arms, blocks=1, ticks=4, options={"scale": 0.01})
    (sheet,) = swept(study)
    colours = arm_colours(arms)
    for axes, arm in zip(sheet.all_panels, colours, strict=True):
        shades = [container.lines[0].get_color() for container in bars_in(axes)]
        assert axes.get_title(loc="left") == f"asyncio · {arm}"
        assert shades[-1] == colours[arm]
        assert len(set(shades)) == 3
    assert "scaled to 1 %" in small_print(sheet)


def test_words_stand_side_by_side_and_nothing_joins_them() -> None:
    ((axes,),) = swept(FakeStudy(variants=RUNGS, workers=(1, 2), blocks=2, aa_pairs=True, ticks=4))[
        0
    ].panels
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [
        "attribute-read", "attribute-write", "nothing",
    ]  # fmt: skip
    one, two = bars_in(axes)
    assert one.lines[0].get_linestyle() == two.lines[0].get_linestyle() == "None"
    first, second = (x_of(each) for each in (one, two))
    np.testing.assert_allclose((first + second) / 2, [0, 1, 2])
    assert (second > first).all()
    assert sum(each.get_gid() == "noise" for each in axes.collections) == 6
    assert len(runs_in(axes)) == 12


@pytest.mark.parametrize(
    ("values", "scale", "joined"),
    [
        ([0, 20, 50], "linear", True),
        ([256, 1024, 102_400], "log", True),
        ([0, 10, 1_000], "in order", True),
        ([False, True], "in order", False),
        (["run", "runner"], "in order", False),
        ([None, 3], "in order", False),
    ],
)
def test_numbers_are_to_scale_if_that_can_be_read(
    values: list[ParameterValue], scale: str, joined: bool
) -> None:
    found = places(values, 3.0)
    assert (found.scale, found.joined) == (scale, joined)


@given(
    st.lists(st.integers(0, 10**7), min_size=2, max_size=12, unique=True).map(sorted),
    st.floats(1.5, 7),
)
def test_labels_never_overlap_and_both_ends_are_labelled(values: list[int], room_in: float) -> None:
    found = places(values, room_in)
    labels = found.readable()
    span_in = room_in / 1.12
    told = [
        (x * span_in, width_in(text, SIZE) / 2)
        for x, text in zip(found.shares, labels, strict=True)
        if text
    ]
    assert labels[0]
    assert labels[-1] == found.labels[-1]
    for (one, half), (other, other_half) in pairwise(told):
        assert one + half < other - other_half


def under_load(study: FakeServedStudy) -> LoadSubject:
    (found,) = loads(study.results).values()
    return found


@cache
def drawn(study: FakeServedStudy) -> dict[str, Sheet]:
    about = under_load(study)
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


def panel(sheet: Sheet, title: str) -> Axes:
    (found,) = [each for each in sheet.all_panels if each.get_title(loc="left") == title]
    return found


def test_every_median_is_at_its_rate() -> None:
    for n in LOADED.workers:
        for name, column in (("P99", "latency_p99_s"), ("P50", "latency_p50_s")):
            axes = panel(drawn(LOADED)["latency"], f"{name}, N = {n}")
            expected = sorted(
                (at.rate_per_s, at.point.figures[column].point * 1e3)
                for line in under_load(LOADED).rated.on("asyncio", n)
                for at in line.at_rates
                if at.point.figures[column].n
            )
            both = sorted(marks(axes, "median") + marks(axes, "bound"))
            np.testing.assert_allclose(both, expected)
            assert axes.get_xscale() == axes.get_yscale() == "log"


def test_lower_bounds_are_open_and_the_rates_beyond_are_grey() -> None:
    axes = panel(drawn(LOADED)["latency"], "P99, N = 1")
    behind = {
        (line.key.arm, at.rate_per_s)
        for line in under_load(LOADED).rated.on("asyncio", 1)
        for at in line.at_rates
        if at.is_bound
    }
    assert behind == {("3.14t", 1280.0), ("3.14t", 2000.0), ("3.14", 2000.0)}
    assert [rate for rate, _ in marks(axes, "bound")] == [1280.0, 2000.0, 2000.0]
    shades = {patch.get_gid(): patch for patch in axes.patches}
    begins = {str(name): patch.get_extents().x0 for name, patch in shades.items()}
    at = {rate: axes.transData.transform((rate, 1.0))[0] for rate in LOADED.rates}
    assert at[800.0] < begins["behind-smt"] < at[1280.0] < begins["behind-oversubscribed"]
    assert begins["behind-oversubscribed"] < at[2000.0]
    quiet = panel(drawn(LOADED)["latency"], "P99, N = 2")
    assert [patch.get_gid() for patch in quiet.patches] in ([], ["behind-smt"])


def test_what_has_too_few_requests_is_not_drawn() -> None:
    sheets = drawn(replace(LOADED, rates=(50.0, 800.0)))
    sheet = sheets["latency"]
    assert [rate for rate, _ in marks(panel(sheet, "P99, N = 1"), "median")] == [800.0, 800.0]
    assert {rate for rate, _ in marks(panel(sheet, "P50, N = 1"), "median")} == {50.0, 800.0}
    why = {
        axes.get_title(loc="left"): [t.get_text() for t in axes.texts if t.get_gid() == "empty"]
        for axes in sheets["latency-by-workers"].all_panels
    }
    assert why.pop("P99 at 50.0/s") == ["P99 not known:\ntoo few requests in valid runs"]
    assert not any(why.values())


def test_percentiles_stand_at_one_over_their_rest() -> None:
    sheet = drawn(LOADED)["percentiles"]
    assert "at 800 requests/s" in sheet.title
    shares = {"latency_p50_s": 0.5, "latency_p90_s": 0.9, "latency_p95_s": 0.95}
    shares["latency_p99_s"] = 0.99  # P99.9 needs more requests than there were
    expected = sorted(
        (1 / (1 - share), line.at(800.0).point.figures[column].point * 1e3)  # type: ignore[union-attr]
        for line in under_load(LOADED).rated.on("asyncio", 2)
        for column, share in shares.items()
    )
    np.testing.assert_allclose(marks(panel(sheet, "N = 2"), "median"), expected)


def test_latency_against_n_is_at_the_same_rate() -> None:
    axes = panel(drawn(LOADED)["latency-by-workers"], "P99 at 500/s")
    expected = sorted(
        (float(line.workers), line.at_rates[0].point.figures["latency_p99_s"].point * 1e3)
        for line in under_load(LOADED).rated.lines
    )
    np.testing.assert_allclose(marks(axes, "median"), expected)


def test_objectives_are_drawn_where_they_apply() -> None:
    about = under_load(replace(LOADED, options={"slo": ["p99<20ms"]}))
    with mpl.rc_context(RC):
        sheets = [p.draw(about) for p in load_plots_of(about) if p.name.startswith("latency")]
    assert len(sheets) == 2
    for axes in (axes for sheet in sheets for axes in sheet.all_panels):
        is_p99 = axes.get_title(loc="left").startswith("P99")
        assert {y for _, y in marks(axes, "objective")} == ({20.0} if is_p99 else set())


def test_the_caption_says_how_it_was_loaded_and_where_cores_are_too_few() -> None:
    said = small_print(drawn(LOADED)["latency"])
    for words in ("server tcp", "16 connections per worker", "connections dealt evenly"):
        assert words in said
    assert "windows of 4 s" in said
    assert "2 blocks" in said
    few = replace(LOADED, cores=2, logical=2, generator_cpu_s=0.5e-3, busy_fraction=0.4)
    said = small_print(drawn(replace(few, rates=(500.0, 800.0)))["latency"])
    assert "shared cores: N workers gain at most ×1." in said


def test_the_tables_behind_a_picture_have_its_figures() -> None:
    def p99s(grid: Grid) -> list[float]:
        place = grid.headings.index("P99 latency ms")
        return [row[place].point for row in grid.rows]  # type: ignore[union-attr]

    about = under_load(LOADED)
    tables = [plot.tables(about, "") for plot in load_plots_of(about)]
    assert all(grid.rows for grids in tables for grid in grids)
    for grid, n in zip(tables[0], LOADED.workers, strict=True):
        assert grid.title.endswith(f"N = {n}")
        assert p99s(grid) == [
            at.point.figures["latency_p99_s"].point * 1e3
            for rate in LOADED.rates
            for line in about.rated.on("asyncio", n)
            if (at := line.at(rate))
        ]


def test_throughput_of_an_open_loop_is_not_drawn() -> None:
    names = list(dict(drawings(replace(LOADED, rates=(0.0, 500.0, 800.0)).results)))
    assert "serve-closed-loop-weak-throughput" in names
    assert {name for name in names if "closed-loop" not in name} == {
        "serve-weak-latency",
        "serve-weak-percentiles",
        "serve-weak-latency-by-workers",
    }


def test_a_parameter_is_swept_by_p99() -> None:
    made = replace(LOADED, rates=(800.0,), workers=(2,))
    studies = [replace(made, parameters={"accept": policy}) for policy in ("port", "shared")]
    found = in_memory([made.first_line, *(run for study in studies for run in study.runs)])
    with mpl.rc_context(RC):
        every = dict(drawings(StudyResults(found.frame, found.study)))
        sheet = every["serve-weak-by-accept"]()
    assert "P99 latency by accept" in sheet.title
    for axes, (arm, _) in zip(sheet.all_panels, TWO, strict=True):
        expected = sorted(found.frame.loc[found.frame["arm"] == arm, "latency_p99_s"] * 1e3)
        assert sorted(y for _, y in runs_in(axes)) == pytest.approx(expected)
