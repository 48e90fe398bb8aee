"""A law is fitted and shown inside one topology region, where it has enough points."""

import math
from dataclasses import replace
from typing import Any

from scaling.analysis.laws import laws
from scaling.journal.record import RunLine
from scaling.report.view.tables import LAWS
from tests.support.runs import changing, throttled
from tests.support.studies import FakeStudy

WIDE = (1, 2, 3, 4, 6, 8, 12)
SERIAL = 0.05


def obeying(workers: tuple[int, ...] = WIDE) -> FakeStudy:
    """Amdahl's law with a serial part of 5 % on eight cores, and no more beyond them."""
    speeds = {("3.14t", "threads", n): min(n, 8) / (1 + SERIAL * (min(n, 8) - 1)) for n in workers}
    return FakeStudy(workers=workers, blocks=8, cores=8, logical=8, speeds=speeds, noise=0.01)


STUDY, FEW = obeying(), obeying((1, 2, 4))


def parameters_of(found: FakeStudy) -> dict[str, dict[Any, Any]]:
    rows = laws(found.study).to_dict("records")
    return {str(row["measure"]): row for row in rows}


def test_each_region_with_enough_points_has_its_own() -> None:
    found = parameters_of(STUDY)  # 12 workers are beyond the cores
    assert found.keys() == {"gamma", "alpha"}
    alpha = found["alpha"]
    assert (alpha["region"], alpha["workers"], alpha["law"]) == ("cores", "1–8", "Amdahl")
    assert alpha["low"] < SERIAL < alpha["high"]
    assert alpha["n"] == 8


def test_coherency_that_is_proven_has_a_peak() -> None:
    wide = (1, 2, 4, 6, 8, 12, 16)
    speeds = {("3.14t", "threads", n): n / (1 + 0.05 * (n - 1) + 0.01 * n * (n - 1)) for n in wide}
    found = parameters_of(
        FakeStudy(workers=wide, blocks=8, cores=16, logical=16, speeds=speeds, noise=0.01)
    )
    assert {row["law"] for row in found.values()} == {"USL"}
    for name, true in (("beta", 0.01), ("peak", math.sqrt(0.95 / 0.01))):
        assert found[name]["low"] < true < found[name]["high"]


def test_few_points_a_single_one_and_an_unknown_machine_have_none() -> None:
    unknown = replace(STUDY, change=changing(placement__region=None))
    for study in (FEW, obeying((1,)), unknown):
        assert laws(study.study).empty
        assert not list(LAWS.grids(study.study))


def test_a_block_that_lacks_a_run_does_not_count() -> None:
    def without_one(run: RunLine) -> RunLine:
        return throttled(run) if (run.block, run.cell.workers) == (0, 3) else run

    found = parameters_of(replace(STUDY, change=without_one))
    assert found["alpha"]["n"] == 7


def test_a_row_of_the_table_has_every_parameter_with_its_interval() -> None:
    (grid,) = LAWS.grids(STUDY.study)
    (row,) = grid.rows
    alpha = row[[heading.name for heading in grid.headings].index("alpha")]
    assert alpha.text.startswith("0.05")
    assert "–" in alpha.beside
    assert "1–8" in grid.title
