"""The A/A band is in every plot, as wide as the A/A pairs differ, and the key says how wide."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.patches import Rectangle

from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.noise import NoiseFloor, noise_floor
from scaling.analysis.table.load import Journal, read_journal
from scaling.base import formats
from scaling.journal.record import RunLine
from scaling.report.plots.draw import PLOTS, subjects
from scaling.report.plots.sheet import Sheet
from scaling.report.plots.style import RC
from tests.support.drawn import key_of
from tests.support.fabricate import Made, journal, studied, write

# Of `losses` these studies have no readings, and it has no band: its bars have intervals.
ALL = {plot.name: plot.draw for plot in PLOTS if plot.name != "losses"}
MADE = Made(arms=("3.14", "3.14t"), models=("threads", "processes"), aa_pairs=True, noise=0.02)
CROWDED = Made(
    arms=("3.14", "3.14+mimalloc", "3.14t"),
    models=("threads", "processes", "interpreters"),
    loops=("asyncio", "uvloop"),
)


def drawn(study: Journal, kind: str) -> Sheet:
    about, *_ = subjects(StudyResults.of(study)).values()
    with mpl.rc_context(RC):
        return ALL[kind](about)


def floor_of(study: Journal) -> NoiseFloor:
    return noise_floor(study.frame, study.study)


def bands(sheet: Sheet) -> list[Artist]:
    return [
        each
        for axes in sheet.all_panels
        for each in axes.get_children()
        if each.get_gid() == "noise"
    ]


def key(sheet: Sheet) -> str:
    return " ".join(key_of(sheet))


@pytest.mark.parametrize(("kind", "curves"), [("throughput", 4), ("efficiency", 8), ("memory", 4)])
def test_a_band_is_around_every_median_as_wide_as_the_noise(
    tmp_path: Path, kind: str, curves: int
) -> None:
    study = studied(tmp_path, MADE)
    sheet = drawn(study, kind)
    floor = floor_of(study).of("echo", kind)
    found = bands(sheet)
    assert len(found) == curves
    for band in found:
        assert isinstance(band, FillBetweenPolyCollection)
        (path,) = band.get_paths()
        points = np.asarray(path.vertices)
        for n in (1, 2, 4):
            heights = points[points[:, 0] == n, 1]
            assert heights.max() / heights.min() == pytest.approx((1 + floor) ** 2)
    assert f"A/A: equal cells differ by up to ±{formats.percent(floor)}" in key(sheet)


def test_the_ladder_has_it_around_1(tmp_path: Path) -> None:
    study = studied(tmp_path, MADE)
    sheet = drawn(study, "ladder")
    floor = floor_of(study).of("echo")
    found = bands(sheet)
    assert len(found) == len(sheet.all_panels) == 3
    for band in found:
        assert isinstance(band, Rectangle)
        ends = band.get_y(), band.get_y() + band.get_height()
        assert ends == pytest.approx((1 / (1 + floor), 1 + floor))
    assert f"equal cells differ by up to ±{formats.percent(floor)}" in key(sheet)


def test_where_memory_meets_throughput_each_has_its_own(tmp_path: Path) -> None:
    study = studied(tmp_path, MADE)
    sheet = drawn(study, "trade")
    across, up = (floor_of(study).of("echo", what) for what in ("memory", "throughput"))
    assert across != up
    found = bands(sheet)
    assert len(found) == 4 * 3
    for box in found:
        assert isinstance(box, Rectangle)
        x, y = box.get_xy()
        assert box.get_width() == pytest.approx(x * ((1 + across) ** 2 - 1))
        assert box.get_height() == pytest.approx(y * ((1 + up) ** 2 - 1))
    told = f"±{formats.percent(across)} across, ±{formats.percent(up)} up"
    assert told in key(sheet)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
def test_without_aa_pairs_there_is_none(tmp_path: Path, kind: str) -> None:
    made = Made(arms=("3.14", "3.14t"), models=("threads", "processes"))
    sheet = drawn(studied(tmp_path, made), kind)
    assert bands(sheet) == []
    assert "A/A" not in key(sheet)


@pytest.mark.parametrize("kind", ["throughput", "efficiency"])
def test_a_loop_that_was_not_run_under_a_model_has_no_empty_panel(
    tmp_path: Path, kind: str
) -> None:
    def can_run(line: object) -> bool:
        cell = line.cell if isinstance(line, RunLine) else None
        return cell is None or (cell.loop, cell.model) != ("uvloop", "threads")

    lines = [line for line in journal(CROWDED) if can_run(line)]
    sheet = drawn(read_journal(write(lines, tmp_path / "journal.jsonl")), kind)
    titles = [axes.get_title(loc="left") for axes in sheet.all_panels]
    assert titles == [
        *(f"asyncio: {model}" for model in CROWDED.models),
        *(f"uvloop: {model}" for model in CROWDED.models[1:]),
    ]
    assert all(axes.lines for axes in sheet.all_panels)
    sheet.lay_out()
    assert [axes.get_ylabel() != "" for axes in sheet.all_panels] == [
        True,
        False,
        False,
        True,
        False,
    ]
    assert set(sheet.figure.axes) == set(sheet.all_panels)
