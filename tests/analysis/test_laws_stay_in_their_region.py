"""A law is fitted, printed and drawn inside one topology region, where it has enough points."""

import math
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from scaling.analysis.curves import curves
from scaling.analysis.laws import Law, laws
from scaling.report.files import write_tables
from scaling.report.plots import throughput
from scaling.report.plots.draw import subjects
from scaling.report.plots.style import RC
from scaling.report.tables.laws import law_grids
from scaling.report.terminal.show import Results
from tests.support.printing import printed
from tests.support.runs import changing
from tests.support.studies import FakeStudy

WIDE = (1, 2, 3, 4, 6, 8, 12)
SERIAL = 0.05


def obeying(workers: tuple[int, ...] = WIDE) -> FakeStudy:
    """Amdahl's law with a serial part of 5 % on eight cores, and no more beyond them."""
    speeds = {("3.14t", "threads", n): min(n, 8) / (1 + SERIAL * (min(n, 8) - 1)) for n in workers}
    return FakeStudy(workers=workers, blocks=8, cores=8, logical=8, speeds=speeds, noise=0.01)


STUDY, FEW = obeying(), obeying((1, 2, 4))


def laws_of(found: FakeStudy) -> list[Law]:
    (curve,) = curves(found.frame)
    return [*laws(curve)]


def test_each_region_with_enough_points_has_its_own() -> None:
    (law,) = laws_of(STUDY)  # 12 workers are beyond the cores
    assert (law.region, law.workers, law.name) == ("cores", (1, 2, 3, 4, 6, 8), "Amdahl")
    assert law.estimates.keys() == {"gamma", "alpha"}
    alpha = law.estimates["alpha"]
    assert alpha.low < SERIAL < alpha.high
    assert (alpha.n, alpha.coverage) == (8, 0.95)


def test_its_band_is_about_the_medians_and_reaches_no_further_than_they_do() -> None:
    (law,) = laws_of(STUDY)
    medians = [p.throughput.point for p in law.curve.points if p.workers in law.workers]
    point, low, high = law.at(np.array(law.workers, float))
    assert point == pytest.approx(medians, rel=0.03)
    assert ((low <= point) & (point <= high)).all()


def test_coherency_that_is_proven_has_a_peak() -> None:
    wide = (1, 2, 4, 6, 8, 12, 16)
    speeds = {("3.14t", "threads", n): n / (1 + 0.05 * (n - 1) + 0.01 * n * (n - 1)) for n in wide}
    study = FakeStudy(workers=wide, blocks=8, cores=16, logical=16, speeds=speeds, noise=0.01)
    (law,) = laws_of(study)
    assert law.name == "USL"
    assert law.estimates["beta"].low < 0.01 < law.estimates["beta"].high
    assert law.estimates["peak"].low < math.sqrt(0.95 / 0.01) < law.estimates["peak"].high


def test_few_points_a_single_one_and_an_unknown_machine_have_none() -> None:
    unknown = replace(STUDY, change=changing(cell__region=None))
    for study in (FEW, obeying((1,)), unknown):
        assert laws_of(study) == []
        assert law_grids(study.results) == []


def test_a_block_that_lacks_a_run_does_not_count() -> None:
    (curve,) = curves(STUDY.frame)
    curve.values["throughput"][0, 2] = np.nan
    (law,) = laws(curve)
    assert law.estimates["alpha"].n == 7


@pytest.mark.slow
def test_it_is_in_tables_and_on_the_page(tmp_path: Path) -> None:
    results = STUDY.results
    write_tables(results, tmp_path)
    (law,) = laws_of(STUDY)
    written, shown = (tmp_path / "tables.md").read_text(), printed(Results(results))
    assert f"| 1–8 (cores) | Amdahl | {law.estimates['gamma']} | {law.estimates['alpha']} |" in (
        written
    )
    assert "Amdahl" in shown


def drawn(study: FakeStudy) -> Axes:
    with mpl.rc_context(RC):
        (subject,) = subjects(study.results).values()
        (axes,) = throughput.draw(subject).all_panels
    return axes


def test_nothing_is_drawn_beyond_the_region_nor_without_its_band() -> None:
    axes = drawn(STUDY)
    (line,) = [each for each in axes.get_lines() if str(each.get_gid()).startswith("law-")]
    (band,) = [
        each
        for each in axes.collections
        if isinstance(each, PolyCollection) and each.get_gid() == "law-band-cores"
    ]
    assert line.get_gid() == "law-cores"
    ns = np.asarray(line.get_xdata())
    assert (ns.min(), ns.max()) == (1, 8)
    corners = band.get_paths()[0].get_extents()
    assert (corners.x0, corners.x1) == (1, 8)


def test_few_points_draw_no_law() -> None:
    assert not [each for each in drawn(FEW).get_lines() if str(each.get_gid()).startswith("law")]
