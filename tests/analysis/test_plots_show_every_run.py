"""Plots show every run, every median with its interval, and what they are measured against; each is
whole, small, the same every time, in the page's colours, and says its figures in words.
A sweep is of one parameter alone.
"""

import re
import warnings
from dataclasses import replace
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer

from scaling.analysis.arrays import Floats
from scaling.base.formats import number
from scaling.report.render.style import COLORBLIND, MARKERS, RC, arm_colours
from scaling.report.render.svg import VARIABLES, Drawing
from scaling.report.view.plots import MOST_ROWS, PLOTS, drawings
from scaling.study.questions import THROUGHPUT
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy, Variants
from tests.support.terms import plus

HOSTILE = "<script>alert(1)</script>&\"'{{ 7 * 7 }} $x$"
MADE = FakeStudy(
    arms=("3.14+mimalloc", "3.14t"),
    models=("threads", "processes"),
    loops=("asyncio", "uvloop"),
    workers=(1, 2, 4),
    blocks=6,
    ticks=4,
    aa_pairs=True,
    terms=lambda _arm, model, n: plus(blocked=900.0 * n) if model == "threads" else plus(user=9.0),
)
SWEPT = FakeStudy(
    variants={f"own:{HOSTILE}": [{"bytes": 2**n, HOSTILE: HOSTILE} for n in (0, 4, 8)]},
    workers=(1, 2),
    blocks=6,
)
OPEN = FakeServedStudy(
    configurations=(("3.14t", "threads"), ("3.14", "processes")),
    rates=(500.0, 800.0, 1280.0),
    blocks=6,
    window_s=4.0,
    options={"slo": ["p99<20ms"]},
)
STUDIES = {"made": MADE, "swept": SWEPT, "open": OPEN}


@cache
def drawn(name: str) -> dict[str, Drawing]:
    return {each.name: each for each in drawings(STUDIES[name].study)}


@cache
def marked_up(name: str) -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a layout that finds no room warns
        return {each.name: each.svg for each in drawn(name).values()}


def panels(plot: Drawing) -> list[Axes]:
    return [axes for axes in plot.figure.axes if axes.axison]


def dots_in(plot: Drawing) -> Floats:
    """The places of all dots, shape (dots, 2)."""
    every = [each for axes in panels(plot) for each in axes.collections]
    return np.vstack([each.get_offsets() for each in every if isinstance(each, PathCollection)])


def bars_in(plot: Drawing) -> list[ErrorbarContainer]:
    every = [each for axes in panels(plot) for each in axes.containers]
    return [each for each in every if isinstance(each, ErrorbarContainer)]


def test_every_plot_has_a_study_that_shows_it() -> None:
    seen = {name.split("-")[0] for each in STUDIES for name in drawn(each)}
    assert {plot.name.split("-")[0] for plot in PLOTS} - seen <= {"versions", "settings"}


def test_every_valid_run_is_a_dot_and_every_cell_a_bar_whose_median_is_said() -> None:
    plot, study = drawn("made")["throughput-echo"], MADE.study
    runs = study.runs[study.runs["valid"] & ~study.runs["twin"]]
    np.testing.assert_allclose(sorted(dots_in(plot)[:, 1]), sorted(runs[THROUGHPUT]))
    cells = study.estimates.query(f"measure == '{THROUGHPUT}' and not twin")
    heights = sorted(float(y) for each in bars_in(plot) for y in np.asarray(each[0].get_ydata()))
    np.testing.assert_allclose(heights, sorted(cells["point"]))
    first = cells.query("loop == 'asyncio' and model == 'threads' and workers == 2")
    assert all(f"{number(point)} at 2" in plot.description for point in first["point"])


def test_a_panel_for_each_loop_and_model_with_ideal_band_ceiling_and_regions() -> None:
    plot = drawn("made")["throughput-echo"]
    titles = [axes.get_title(loc="left") for axes in panels(plot)]
    expected = [f"{lo}: {mo}" for lo in ("asyncio", "uvloop") for mo in ("threads", "processes")]
    assert titles == expected
    (legend,) = plot.figure.legends
    key = {text.get_text() for text in legend.get_texts()}
    assert {*MADE.arms, *MADE.models, "one run", "ideal", "best processes"} <= key
    assert any(text.startswith("A/A: equal cells differ") for text in key)
    assert {"cores", "oversubscribed"} <= {
        text.get_text() for axes in panels(plot) for text in axes.texts
    }
    assert all(axes.get_ylim()[0] == 0 for axes in panels(plot))
    assert "3.14+mimalloc" in marked_up("made")[plot.name]  # no figure of a name is rounded
    assert "Linux 6.1" in marked_up("made")[plot.name]


def test_an_arm_has_one_colour_and_a_loop_one_marker() -> None:
    colours = arm_colours(MADE.arms)
    for name, plot in drawn("made").items():
        if name.startswith(("throughput", "memory", "efficiency", "trade")):
            for bars in bars_in(plot):
                assert bars[0].get_color() in colours.values()
                assert bars[0].get_marker() in (MARKERS["asyncio"], MARKERS["uvloop"])


def test_ratios_are_those_of_the_headline_n_with_their_words() -> None:
    plot = drawn("made")["over-processes"]
    found = MADE.study.ratios.query(
        f"question == 'over processes' and measure == '{THROUGHPUT}' and main"
    )
    shown = sorted(dots_in(plot)[:, 0])
    np.testing.assert_allclose(shown, sorted(found["ratio"]))
    assert len(shown) <= MOST_ROWS
    (beside,) = plot.figure.axes[0].child_axes
    assert [each.get_text() for each in beside.get_yticklabels()] == found["said"].tolist()


def test_losses_are_of_threads_without_the_gil_and_the_processes_beside_them() -> None:
    (axes,) = panels(drawn("made")["losses-echo"])
    names = [each.get_text() for each in axes.get_yticklabels()]
    assert sum("3.14t · threads" in name for name in names) == len(MADE.loops)
    assert all("3.14t · threads" in name or "processes" in name for name in names)


def test_latencies_are_over_rates_with_their_objective() -> None:
    plot = drawn("open")["latency-serve"]
    titles = {axes.get_title(loc="left").rpartition(": ")[2] for axes in panels(plot)}
    assert titles == {"P50", "P99"}
    for axes in panels(plot):
        assert axes.get_xscale() == "log"
        levels = [line.get_ydata() for line in axes.get_lines()]
        assert any(list(np.asarray(each)) == [20.0, 20.0] for each in levels)


@pytest.mark.parametrize("name", STUDIES)
def test_each_is_valid_small_in_colours_of_the_page_and_says_its_figures(name: str) -> None:
    """No two share an id or a class."""
    seen: set[str] = set()
    for plot, text in marked_up(name).items():
        root = ET.fromstring(text)
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-label"] == drawn(name)[plot].title
        assert len(text) < 200_000, plot
        assert len(drawn(name)[plot].description) > 60, plot
        assert len(re.findall(r"\d", drawn(name)[plot].description)) > 3, plot
        plain = set(re.findall(r"(?<!, )#[0-9a-f]{6}\b", text))
        assert plain.isdisjoint(VARIABLES)
        assert plain <= {*COLORBLIND, "#946200"}
        own = set(re.findall(r'(?:\bid|class)="([^"]+)"', text))
        assert own.isdisjoint(seen)
        seen |= own
    assert "<script" not in "".join(marked_up(name).values())


ONE_N = FakeStudy(workers=(1,), blocks=1, ticks=4)
(SWEEP,) = (plot for plot in PLOTS if plot.name == "sweep")
NS, JOINS = (10, 100, 1000), ("wait", "list", "queue")


def swept(variants: Variants, **changes: Any) -> dict[str, set[str]]:
    """The plots of such a study, each with the values at which its one curve is shown."""
    study = replace(ONE_N, variants=variants, **changes).study
    found = {}
    for name, picture in SWEEP.drawn(SWEEP, study):
        (curve,) = picture.description.split(": ")[1:]
        found[" ".join(name.split())] = {
            each.rstrip(",.") for each in re.findall(r" at ([\w,]+)", curve)
        }
    return found


def test_of_two_parameters_each_is_swept_at_every_value_of_the_other() -> None:
    found = swept({"gather": [{"fan_out": n, "join": join} for n in NS for join in JOINS]})
    assert sorted(found) == sorted(
        [f"gather · join={join} by fan_out" for join in JOINS]
        + [f"gather · fan_out={n} by join" for n in NS]
    )


def test_cells_that_differ_in_two_parameters_are_no_sweep() -> None:
    both = zip(NS, JOINS, strict=True)
    assert (
        swept({"gather": [{"fan_out": n, "join": join} for n, join in both]})
        == swept({"echo": [{}], "compute": [{}]})
        == {}
    )


def test_sizings_are_not_mixed() -> None:
    variants = {"echo": [{"connections": n} for n in (8, 64, 512)]}
    found = swept(variants, sizings=("weak", "strong"))
    assert list(found.values()) == [{"8", "64", "512"}] * 2


def test_palette_and_edges_are_those_of_seaborn() -> None:
    import seaborn as sns  # takes longer to import than five plots to draw

    assert list(COLORBLIND) == sns.color_palette("colorblind").as_hex()
    style = sns.axes_style("ticks")
    assert to_hex(RC["patch.edgecolor"]) == to_hex(style["patch.edgecolor"])
    for name in ("patch.force_edgecolor", "axes.axisbelow", "lines.solid_capstyle"):
        assert RC[name] == style[name]
