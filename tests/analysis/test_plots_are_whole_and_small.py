"""Every plot keeps its words on the sheet, is the same file on any machine, and is small without
losing a dot.
"""

import base64
import gc
import io
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from scaling.base.errors import UsageError
from scaling.report.plots.draw import draw_all, drawings, drawn
from scaling.report.plots.sheet import Sheet
from scaling.report.plots.style import RC
from scaling.report.plots.svg import SVG, XLINK, one_of_several, say, small_svg
from tests.support.runs import crashed
from tests.support.studies import FakeStudy
from tests.support.terms import plus

CLASS = re.compile(r"\.([\w-]+)\{([^}]*)\}")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
POINT = 0.005 + 1e-9  # what rounding to two decimals may move a place by

LONG = {f"a_rather_long_parameter_{letter}": 100_000 for letter in "abcd"}
CROWDED = FakeStudy(
    arms=("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t"),
    loops=("asyncio", "rloop", "anyio/trio"),
    models=("threads", "processes", "interpreters"),
    variants={"echo": [LONG, {**LONG, "a_rather_long_parameter_d": 2}]},
    workers=(1, 2, 4, 16, 64),
    cores=8,
    logical=16,
    blocks=1,
    ticks=2,
    terms=lambda _arm, _model, n: plus(user=9_000.0 * n),
)
WORDS = FakeStudy(
    variants={"shared": [{"sharing": f"a rather long word, the {c}"} for c in "abcdef"]},
    arms=("3.14+mimalloc", "3.14t+gil", "3.14t"),
    loops=("asyncio", "anyio/trio"),
    workers=(1, 2),
    blocks=1,
    ticks=2,
)
SWEPT = FakeStudy(
    variants={"echo": [{"payload_bytes": 256}, {"payload_bytes": 1024}]},
    workers=(1, 2),
    blocks=1,
    ticks=4,
)
FULL = [
    *(pytest.param(CROWDED, kind, id=kind) for kind in
      ("throughput", "efficiency", "losses", "memory", "ladder", "trade", "by-")),
    pytest.param(WORDS, "by-", id="words"),
]  # fmt: skip


def beyond_the_view(axes: Axes) -> Iterator[Text]:
    """The labels of ticks past the end of an axis, which Matplotlib keeps and does not draw."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if not low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)


@pytest.mark.slow
@pytest.mark.parametrize(("study", "kind"), FULL)
def test_no_word_is_cut_off_or_runs_into_another(study: FakeStudy, kind: str) -> None:
    with mpl.rc_context(RC):
        sheet = next(draw for name, draw in drawings(study.results) if kind in name)()
    sheet.lay_out()
    figure = sheet.figure
    figure.draw_without_rendering()
    undrawn = {label for axes in figure.axes for label in beyond_the_view(axes)}
    shown = [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text not in undrawn
    ]
    assert len(shown) > 10
    boxes = {text: text.get_window_extent() for text in shown}
    for text, box in boxes.items():
        assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1, text
    for axes in sheet.all_panels:
        labels = [each for each in axes.get_xticklabels() if each in boxes]
        for one, other in pairwise(each for each in labels if not each.get_rotation()):
            assert boxes[one].x1 < boxes[other].x0
        (heading,) = [t for t in axes.findobj(Text) if t.get_text() == axes.get_title(loc="left")]
        assert heading.get_window_extent().x1 <= axes.get_window_extent().x1 + 1


def test_a_parameter_may_look_like_mathematics() -> None:
    variants = {"mine": [{"pattern": r"$\frac{$"}, {"pattern": "$x_1$ {_"}]}
    study = FakeStudy(variants=variants, workers=(1,), blocks=1, ticks=2)
    with mpl.rc_context(RC):
        sheet = next(draw for name, draw in drawings(study.results) if "memory" in name)()
    sheet.figure.draw_without_rendering()
    assert r"mine · pattern=$\frac{$: memory" in [text.get_text() for text in sheet.figure.texts]


def figures_alive() -> int:
    gc.collect()
    return sum(isinstance(thing, Figure) for thing in gc.get_objects())


@pytest.mark.slow
def test_drawing_gives_the_same_files_on_any_machine_and_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    before, figures = dict(mpl.rcParams), figures_alive()
    results = FakeStudy(workers=(1, 2), blocks=1, ticks=4).results
    once = draw_all(results, tmp_path / "once")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "lines.linewidth": 9}):
        again = draw_all(results, tmp_path / "deep" / "again")
    names = [name for name, _ in drawings(results)]
    assert "echo-weak-throughput" in names
    assert [file.name for file in once] == [
        f"{name}.{suffix}" for name in names for suffix in ("svg", "png")
    ]
    for one, other in zip(once, again, strict=True):
        assert one.read_bytes() == other.read_bytes()
    svg = once[0].read_text()
    assert "<dc:date>" not in svg
    assert str(tmp_path) not in svg
    assert "echo: throughput" in svg
    assert dict(mpl.rcParams) == before
    assert sys.modules["matplotlib.pyplot"].get_fignums() == []
    assert figures_alive() <= figures


def test_what_was_not_measured_is_not_drawn() -> None:
    drawn_of = [dict(drawings(FakeStudy(workers=ns, blocks=1).results)) for ns in ((1, 2), (2, 4))]
    assert drawn_of[0].keys() - drawn_of[1].keys() == {"echo-weak-efficiency"}
    assert list(drawings(FakeStudy(blocks=1, change=crashed).results)) == []


def test_a_plot_is_found_by_the_name_of_its_file_and_shown_with_its_words() -> None:
    sheet: Sheet = drawn(SWEPT.journal, "echo-payload_bytes-256-weak-throughput")
    shown = sheet._repr_mimebundle_(include=None, exclude=None)
    assert base64.b64decode(shown["image/png"]).startswith(b"\x89PNG")
    assert shown["text/plain"] == f"{sheet.title}. {sheet.description}"
    assert "throughput" in shown["text/plain"]
    with pytest.raises(UsageError) as told:
        drawn(SWEPT.journal, "echo-weak-anything")
    assert all(name in str(told.value) for name in dict(drawings(SWEPT.results)))


@pytest.fixture
def figure() -> Figure:
    made = Figure(figsize=(4, 3))
    axes = made.add_subplot()
    x = np.linspace(1, 4, 57)
    axes.plot(x, np.sqrt(x) / 3, label="a < b & c", marker="o")
    axes.scatter(x, x / 7, c=x, s=np.linspace(3, 30, 57))
    axes.errorbar([1, 2, 3], [1, 2, 1.5], [0.1, 0.2, 0.3], capsize=3)
    axes.fill_between(x, 0.1, np.log(x), alpha=0.17)
    axes.legend()
    return made


def as_drawn(figure: Figure) -> ET.Element:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return ET.fromstring(text.getvalue())


def small(figure: Figure, prefix: str = "") -> ET.Element:
    text = small_svg(figure, "title", "a < b")
    return ET.fromstring(one_of_several(text, prefix, " & note") if prefix else text)


def shapes(root: ET.Element) -> list[tuple[str, list[float], str]]:
    """Every visible element in order: what it is, its numbers, its text."""
    return [
        (
            each.tag.removeprefix(SVG),
            [
                float(number)
                for key in ("d", "x", "y", "width", "height")
                for number in NUMBER.findall(each.get(key, ""))
            ],
            each.text or "" if each.tag == f"{SVG}text" else "",
        )
        for each in root.iter()
        if each.tag.removeprefix(SVG) in {"path", "use", "text", "rect"}
    ]


def styles(root: ET.Element) -> list[dict[str, str]]:
    """The declarations of every styled element, by attribute or by class; fonts are left out."""
    sheet = root.find(f"{SVG}style")
    classes = dict(CLASS.findall(sheet.text or "")) if sheet is not None else {}
    found = (
        each.get("style") or classes.get(each.get("class", ""), "")
        for each in root.iter()
        if each.tag.removeprefix(SVG) in {"path", "use", "text"}
    )
    return [
        {
            name.strip(): value.strip()
            for name, _, value in (part.partition(":") for part in style.split(";"))
            if name.strip() not in {"", "font-family", "font"}
        }
        for style in found
    ]


def test_a_small_picture_has_each_dot_line_and_word_in_its_style(figure: Figure) -> None:
    with mpl.rc_context(RC):
        drawn, rounded = as_drawn(figure), small(figure)
    before, after = shapes(drawn), shapes(rounded)
    assert [each[0] for each in after] == [each[0] for each in before]
    for (_, numbers, text), (_, near, kept) in zip(before, after, strict=True):
        assert near == pytest.approx(numbers, abs=POINT)
        assert kept == text
    assert styles(rounded) == styles(drawn)


def test_one_of_several_looks_as_it_does_alone_and_has_names_of_its_own(figure: Figure) -> None:
    figure.axes[0].set_title(""".a{ id="a" class="a" url(#a)""")  # words are left as they are
    with mpl.rc_context(RC):
        alone, root = small(figure), small(figure, prefix="one-")
    assert shapes(root) == shapes(alone)
    assert styles(root) == styles(alone)
    ids = [name for each in root.iter() if (name := each.get("id"))]
    asked = {link[1:] for each in root.iter() if (link := each.get("href") or each.get(XLINK))}
    assert len(ids) == len(set(ids))
    assert asked <= set(ids)
    assert all(name.startswith("one-") for name in ids)
    assert {root.get("aria-labelledby"), root.get("aria-describedby")} <= set(ids)
    assert root.findtext(f"{SVG}desc") == "a < b & note"


def test_marks_say_their_words_and_look_as_they_do_without(figure: Figure) -> None:
    """Each dot its own, or the mark one text; none where it is not known which dot is missing."""
    axes = figure.axes[0]
    (gap,) = axes.plot([1, np.nan, 3], [1, 1, 1], "o", gid="gap")
    dots = [f'dot {number} < "58"' for number in range(57)]
    with mpl.rc_context(RC):
        silent = small(figure, prefix="one-")
        say(axes.lines[0], dots)
        say(axes.collections[0], "all of these")
        say(gap, ["first", "missing", "last"])
        spoken = small(figure, prefix="one-")
    assert shapes(spoken) == shapes(silent)
    assert styles(spoken) == styles(silent)
    assert [each.text for each in silent.iter(f"{SVG}title")] == ["title"]
    words = [each.text for each in spoken.iter(f"{SVG}title")]
    assert words[0] == "title"
    assert sorted(filter(None, words[1:])) == sorted(["all of these", *dots])
    uses = [each for each in spoken.iter(f"{SVG}use") if each.find(f"{SVG}title") is not None]
    assert [each.findtext(f"{SVG}title") for each in uses] == dots
    assert (silent.get("role"), spoken.get("role")) == ("img", "group")
    hidden = [each for each in spoken.iter(f"{SVG}g") if each.get("aria-hidden")]
    assert len(hidden) == 2
    assert gap.get_gid() == "gap"


def test_it_is_small_and_has_no_outlines_of_letters(figure: Figure) -> None:
    with mpl.rc_context({**RC, "svg.fonttype": "path"}):
        outlines = ET.tostring(as_drawn(figure), "unicode")
    with mpl.rc_context(RC):
        text = small_svg(figure, "title", "description")
    assert "a &lt; b &amp; c" in text
    assert len(text) < len(outlines) / 2
