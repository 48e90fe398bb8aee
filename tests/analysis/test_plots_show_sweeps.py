"""A sweep is drawn with every run at its value: numbers to scale and joined, names side by side."""

from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.text import Text

from scaling.analysis.arrays import Floats
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal, read_journal
from scaling.journal.record import ParameterValue
from scaling.report.plots import sweep
from scaling.report.plots.draw import draw_all, subjects
from scaling.report.plots.sheet import Sheet, width_in
from scaling.report.plots.style import RC, arm_colours
from scaling.report.plots.sweep import SIZE, places
from tests.support.drawn import key_of, runs_in
from tests.support.fabricate import Made, Variants, journal, with_, write

pytestmark = pytest.mark.slow

SIZES: Variants = {"echo": [{"payload_bytes": n} for n in (256, 1024, 2048)]}
RUNGS: Variants = {
    "shared": [{"sharing": rung} for rung in ("nothing", "attribute-read", "attribute-write")]
}


def studied(tmp_path: Path, made: Made, **study: object) -> Journal:
    head, *runs = journal(made)
    return read_journal(write([with_(head, study=study), *runs], tmp_path / "journal.jsonl"))


def drawn(study: Journal) -> dict[str, Sheet]:
    with mpl.rc_context(RC):
        results = StudyResults.of(study)
        drawings = sweep.drawings(subjects(results).values(), results.sweeps)
        return {name: draw() for name, draw in drawings}


def medians_in(axes: Axes) -> list[ErrorbarContainer]:
    return [each for each in axes.containers if isinstance(each, ErrorbarContainer)]


def x_of(container: ErrorbarContainer) -> Floats:
    return np.asarray(container.lines[0].get_xdata(), dtype=float)


def test_every_run_is_a_dot_at_its_value_and_every_n_a_line(tmp_path: Path) -> None:
    study = studied(tmp_path, Made(variants=SIZES, loops=("asyncio", "uvloop"), aa_pairs=True))
    (sheet,) = drawn(study).values()
    assert sheet.title == "echo: throughput by payload_bytes"
    for axes, loop in zip(sheet.all_panels, ("asyncio", "uvloop"), strict=True):
        rows = study.frame[(study.frame["loop"] == loop) & ~study.frame["twin"]]
        sizes = rows["parameters"].astype(str).str.extract(r"(\d+)", expand=False).astype(float)
        np.testing.assert_allclose(
            runs_in(axes), sorted(zip(sizes, rows["throughput_per_s"], strict=True))
        )
        lines = medians_in(axes)
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


def test_the_most_workers_have_the_colour_of_the_arm(tmp_path: Path) -> None:
    study = studied(tmp_path, Made(variants=SIZES, arms=("3.14", "3.14t"), blocks=1))
    (sheet,) = drawn(study).values()
    colours = arm_colours(("3.14", "3.14t"))
    for axes, arm in zip(sheet.all_panels, colours, strict=True):
        shades = [container.lines[0].get_color() for container in medians_in(axes)]
        assert axes.get_title(loc="left") == f"asyncio · {arm}"
        assert shades[-1] == colours[arm]
        assert len(set(shades)) == 3


def test_words_stand_side_by_side_and_nothing_joins_them(tmp_path: Path) -> None:
    study = studied(tmp_path, Made(variants=RUNGS, workers=(1, 2), blocks=2, aa_pairs=True))
    (sheet,) = drawn(study).values()
    ((axes,),) = sheet.panels
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [
        "attribute-read", "attribute-write", "nothing",
    ]  # fmt: skip
    one, two = medians_in(axes)
    assert one.lines[0].get_linestyle() == two.lines[0].get_linestyle() == "None"
    first, second = (x_of(each) for each in (one, two))
    np.testing.assert_allclose((first + second) / 2, [0, 1, 2])
    assert (second > first).all()
    assert sum(each.get_gid() == "noise" for each in axes.collections) == 6
    assert len(runs_in(axes)) == 12


@pytest.mark.parametrize(
    ("values", "scale", "joined"),
    [
        ([100_000, 500_000, 1_000_000], "linear", True),
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


def test_the_small_print_says_scaled_and_nothing_of_windows(tmp_path: Path) -> None:
    (sheet,) = drawn(studied(tmp_path, Made(variants=SIZES, blocks=1), scale=0.01)).values()
    assert "scaled to 1 %" in sheet.description.replace("\N{NO-BREAK SPACE}", " ")
    assert "window" not in sheet.description


@pytest.mark.parametrize(
    "made",
    [
        Made(
            variants={"shared": [{"sharing": f"a rather long word, the {c}"} for c in "abcdef"]},
            arms=("3.14+mimalloc", "3.14t+gil", "3.14t"),
            loops=("asyncio", "anyio/trio"),
            workers=(1, 2),
            blocks=1,
            ticks=2,
        ),
        Made(
            variants={"spawn": [{"tasks": n * 100_000} for n in range(1, 11)]},
            models=("threads", "processes", "interpreters"),
            loops=("asyncio", "anyio/trio"),
            workers=(1, 2, 4, 8, 16),
            blocks=1,
            ticks=2,
        ),
    ],
)  # fmt: skip
def test_no_word_is_cut_off_or_runs_into_another(tmp_path: Path, made: Made) -> None:
    (sheet,) = drawn(studied(tmp_path, made)).values()
    sheet.lay_out()
    figure = sheet.figure
    figure.draw_without_rendering()
    texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    assert len(texts) > 40
    for text in texts:
        box = text.get_window_extent()
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, text
    titles = [axes.get_window_extent() for axes in sheet.all_panels]
    for axes, box in zip(sheet.all_panels, titles, strict=True):
        (heading,) = [t for t in axes.findobj(Text) if t.get_text() == axes.get_title(loc="left")]
        assert heading.get_window_extent().x1 <= box.x1 + 1
        names = axes.xaxis.label.get_window_extent()
        assert all(
            names.y1 <= tick.get_window_extent().y0 + 1
            for tick in axes.get_xticklabels()
            if tick.get_text()
        )


def test_it_is_one_file_beside_the_others(tmp_path: Path) -> None:
    study = studied(tmp_path, Made(variants=SIZES, workers=(1, 2), blocks=1, ticks=2))
    files = draw_all(StudyResults.of(study), tmp_path / "plots")
    assert [file.name for file in files if "-by-" in file.name] == [
        "echo-weak-by-payload_bytes.svg",
        "echo-weak-by-payload_bytes.png",
    ]
    plain = studied(tmp_path, Made(workers=(1,), blocks=1, ticks=2))
    assert drawn(plain) == {}
