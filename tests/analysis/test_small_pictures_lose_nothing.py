"""A small picture has each dot, line and word of the figure, in the same style."""

import io
import re
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from scaling.report.plots.style import RC
from scaling.report.plots.svg import SVG, XLINK, one_of_several, small_svg

CLASS = re.compile(r"\.([\w-]+)\{([^}]*)\}")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
POINT = 0.005 + 1e-9  # what rounding to two decimals may move a place by


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


def drawn(figure: Figure) -> ET.Element:
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


def test_each_dot_line_and_word_is_there(figure: Figure) -> None:
    with mpl.rc_context(RC):
        before, after = shapes(drawn(figure)), shapes(small(figure))
    assert [each[0] for each in after] == [each[0] for each in before]
    for (_, numbers, text), (_, rounded, kept) in zip(before, after, strict=True):
        assert rounded == pytest.approx(numbers, abs=POINT)
        assert kept == text


def test_each_has_its_style(figure: Figure) -> None:
    with mpl.rc_context(RC):
        assert styles(small(figure)) == styles(drawn(figure))


def test_what_is_referred_to_is_there_once(figure: Figure) -> None:
    with mpl.rc_context(RC):
        root = small(figure, prefix="one-")
    ids = [name for each in root.iter() if (name := each.get("id"))]
    asked = {link[1:] for each in root.iter() if (link := each.get("href") or each.get(XLINK))}
    asked |= set(re.findall(r"url\(#([^)]+)\)", ET.tostring(root, "unicode")))
    assert len(ids) == len(set(ids))
    assert asked <= set(ids)
    assert all(name.startswith("one-") for name in ids)
    assert {root.get("aria-labelledby"), root.get("aria-describedby")} <= set(ids)
    assert root.findtext(f"{SVG}desc") == "a < b & note"


def test_one_of_several_looks_as_it_does_alone(figure: Figure) -> None:
    figure.axes[0].set_title(""".a{ id="a" class="a" url(#a)""")  # words are left as they are
    with mpl.rc_context(RC):
        alone, among = small(figure), small(figure, prefix="one-")
    assert shapes(among) == shapes(alone)
    assert styles(among) == styles(alone)


def test_it_is_small_and_has_no_outlines_of_letters(figure: Figure) -> None:
    with mpl.rc_context({**RC, "svg.fonttype": "path"}):
        outlines = ET.tostring(drawn(figure), "unicode")
    with mpl.rc_context(RC):
        text = small_svg(figure, "title", "description")
    assert "a &lt; b &amp; c" in text
    assert len(text) < len(outlines) / 2
