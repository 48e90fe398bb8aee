"""A law is fitted, printed and drawn inside one topology region, or the reason is given."""

from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from scaling.analysis.curves import curves
from scaling.analysis.laws import (
    AMDAHL,
    NO_REGION,
    TOO_FEW,
    Fit,
    RegionLaw,
    karp_flatt,
    region_laws,
)
from scaling.report.files import write_tables
from scaling.report.plots import throughput
from scaling.report.plots.draw import subjects
from scaling.report.plots.style import RC
from scaling.report.tables.laws import law_lines, law_rows
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


def laws_of(found: FakeStudy) -> list[RegionLaw]:
    (curve,) = curves(found.frame)
    return region_laws(curve)


def test_each_region_has_its_own() -> None:
    cores, beyond = laws_of(STUDY)
    assert (cores.region, cores.workers) == ("cores", (1, 2, 3, 4, 6, 8))
    assert cores.fit is not None
    assert cores.fit.law.name == "Amdahl"
    low, high = cores.fit.intervals["alpha"]
    assert low < SERIAL < high
    assert (beyond.region, beyond.workers) == ("oversubscribed", (12,))
    assert (beyond.fit, beyond.why) == (None, TOO_FEW)
    assert not beyond.serial_fractions  # it would be over N = 1, which is in another region


def test_it_is_fitted_to_the_medians_of_the_table() -> None:
    law, _ = laws_of(STUDY)
    assert law.fit is not None
    medians = [[p.throughput.point for p in law.curve.points if p.workers in law.workers]]
    fit = Fit(AMDAHL, np.array(law.workers, float), np.array(medians))
    assert law.fit.alpha == pytest.approx(fit.alpha, rel=1e-6)


def test_too_few_points_have_a_serial_fraction() -> None:
    (law,) = laws_of(FEW)
    assert law.fit is None
    assert list(law.serial_fractions) == [2, 4]
    speedup = np.array(law.curve.points[2].speedup.point)
    assert law.serial_fractions[4].point == pytest.approx(float(karp_flatt(4, speedup)), rel=1e-3)
    assert law.serial_fractions[4].low < SERIAL < law.serial_fractions[4].high
    (section,) = FEW.results.sections
    first, second = law_lines(section)
    assert (
        first == f"Laws {TOO_FEW}: N = 1–4 (cores); a law needs 6 worker counts within one region."
    )
    assert "serial fraction (Karp–Flatt) 0.0" in second


def test_a_machine_that_cannot_be_read_has_no_law() -> None:
    unknown = replace(STUDY, change=changing(cell__region=None))
    assert [law.why for law in laws_of(unknown)] == [NO_REGION]


def test_one_n_is_not_spoken_of() -> None:
    assert [law_lines(section) for section in obeying((1,)).results.sections] == [[]]


@pytest.mark.slow
def test_tables_and_rows_agree(tmp_path: Path) -> None:
    results = STUDY.results
    write_tables(results, tmp_path)
    shown = " ".join(printed(Results(results)).split())
    written = (tmp_path / "tables.md").read_text()
    (law, _) = laws_of(STUDY)
    assert law.fit is not None
    low, high = law.fit.intervals["alpha"]
    said = f"α {law.fit.alpha:.4f} ({low:.4f}–{high:.4f})"
    for text in (shown, written):
        assert "threads, N = 1–8 (cores): Amdahl: γ " in text
        assert said in text
        assert "95 % intervals by bootstrap over 8 blocks" in text
        assert f"Laws {TOO_FEW}: N = 12 (oversubscribed)" in text
    rows = pd.read_csv(tmp_path / "laws.csv")
    (alpha,) = rows[rows["figure"] == "alpha"].to_dict("records")
    assert (alpha["law"], alpha["region"], alpha["points"]) == ("Amdahl", "cores", 6)
    assert alpha["value"] == pytest.approx(law.fit.alpha, rel=1e-5)
    assert rows["not_fitted"].dropna().tolist() == [TOO_FEW]
    assert law_rows(results)["figure"].tolist() == rows["figure"].fillna(
        np.nan
    ).replace(np.nan, None).tolist()  # fmt: skip


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
