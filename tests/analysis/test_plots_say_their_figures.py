"""The dots of a plot say what the tables behind it say: what was run, the figure, its interval,
each block.
"""

import re
from collections.abc import Callable, Iterable
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest

from scaling.base import formats
from scaling.report.plots import sweep
from scaling.report.plots.draw import load_plots_of, loads, subjects
from scaling.report.plots.sheet import Sheet
from scaling.report.plots.style import RC
from scaling.report.plots.svg import SVG
from scaling.report.tables.grid import Grid
from scaling.report.tables.overview import sweep_grids
from tests.support.drawn import BY_NAME, bars_in
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy

COMPARED = FakeStudy(
    arms=("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t"),
    models=("threads", "processes"),
    loops=("asyncio", "uvloop"),
    workers=(1, 2),
    blocks=6,
    ticks=4,
)
SWEPT = FakeStudy(
    variants={"echo": [{"payload_bytes": n} for n in (256, 1024)]}, workers=(1, 2), ticks=4
)
LOADED = FakeServedStudy(
    configurations=(("3.14t", "threads"), ("3.14", "processes")),
    answers_per_s={("3.14t", "threads"): 900.0, ("3.14", "processes"): 1_500.0},
    rates=(500.0, 800.0, 2000.0),
    blocks=2,
    window_s=4.0,
)
FIGURE = re.compile(r"[:,] (?:≥ )?([\d.,]*\d)(?:×| [^():]*?)? \(([^)]*)\)")

type Drawn = tuple[Sheet, list[Grid]]


def of_section(kind: str) -> Drawn:
    about, *_ = subjects(COMPARED.results).values()
    plot = BY_NAME[kind]
    return plot.draw(about), plot.tables(about, "")


def of_load(kind: str) -> Drawn:
    about, *_ = loads(LOADED.results).values()
    plot = next(each for each in load_plots_of(about) if each.name == kind)
    return plot.draw(about), plot.tables(about, "")


def of_sweep(kind: str) -> Drawn:
    del kind
    (found,) = SWEPT.results.sweeps
    ((_, draw),) = sweep.drawings(SWEPT.results, [found])
    return draw(), sweep_grids(found)


CASES: dict[str, Callable[[str], Drawn]] = {
    **dict.fromkeys(("throughput", "efficiency", "memory", "trade", "ladder"), of_section),
    **dict.fromkeys(("latency", "percentiles"), of_load),
    "sweep": of_sweep,
}


def said(sheet: Sheet) -> list[str]:
    """The words of the medians; other marks name what they are: runs, outliers, blocks."""
    _, *titles = (each.text or "" for each in ET.fromstring(sheet.svg()).iter(f"{SVG}title"))
    return [text for text in titles if re.search(r", \d+ blocks?(: |$)", text)]


def texts(grids: Iterable[Grid]) -> str:
    return "\n".join(str(cell) for grid in grids for row in grid.rows for cell in row)


@pytest.mark.parametrize("kind", CASES)
def test_each_median_says_a_figure_of_the_tables(kind: str) -> None:
    with mpl.rc_context(RC):
        sheet, grids = CASES[kind](kind)
        words = said(sheet)
    drawn = [bars.lines[0] for axes in sheet.all_panels for bars in bars_in(axes)]
    assert len(words) == sum(np.size(line.get_xdata()) for line in drawn)
    known = texts(grids)
    for text in words:
        figures = FIGURE.findall(text)
        assert figures or "(" not in text, text
        assert all(f"{figure} ({bounds})" in known for figure, bounds in figures), text
    assert sum("(" in text for text in words) > len(words) / 3
    assert any("≥" in text for text in words) == (kind == "latency")


def test_a_median_says_what_was_run_and_each_block() -> None:
    with mpl.rc_context(RC):
        words = said(of_section("throughput")[0])
    cells = ["loop", "arm", "model", "workers"]
    expected = set()
    for (loop, arm, model, n), runs in COMPARED.frame.groupby(cells, observed=True):
        values = runs.sort_values("block")["throughput_per_s"]
        on = "" if loop == "asyncio" else f" on {loop}"
        middle = formats.number(values.median())
        each = " ".join(map(formats.number, values))
        expected.add((f"{arm} {model}{on}, N = {n}: {middle} round trips / s", f"6 blocks: {each}"))
    told = {(text.partition(" (")[0], text.rpartition("), ")[2]) for text in words}
    assert told == expected
