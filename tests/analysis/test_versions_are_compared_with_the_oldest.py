"""Each version of Python is compared with the oldest; other differences of the builds are said."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer
from msgspec.structs import replace

from scaling.analysis.comparison.build_differences import build_differences_of
from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.ladder import version_lines
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal, read_journal
from scaling.journal.record import ArmRecord, StudyLine
from scaling.report.plots import versions
from scaling.report.plots.draw import subjects
from scaling.report.plots.style import RC
from scaling.report.tables.comparison import chapters
from scaling.report.tables.export import comparison_rows
from scaling.study.questions import THROUGHPUT
from tests.support.fabricate import Made, arm, journal, runtime, with_, write

SPEEDS = {"3.12": 1.0, "3.13": 1.1, "3.14": 1.3, "3.13t": 0.9, "3.14t": 1.2, "go": 10.0}
TITLE = "What the versions changed"


def studied(
    folder: Path,
    arms: Sequence[str],
    changes: dict[str, dict[str, Any]] | None = None,
    workers: Sequence[int] = (1,),
) -> Journal:
    made = Made(
        variants={"spawn": [{}]},
        arms=arms,
        workers=workers,
        blocks=8,
        speeds={
            (arm, "threads", n): SPEEDS[arm] * (n if arm.endswith("t") else 1)
            for arm in arms
            for n in workers
        },
        noise=0.002,
    )
    study, *runs = journal(made)
    assert isinstance(study, StudyLine)
    told = {name: _arm(name, (changes or {}).get(name, {})) for name in arms}
    return read_journal(write([replace(study, arms=told), *runs], folder / "journal.jsonl"))


def _arm(name: str, changes: dict[str, Any]) -> ArmRecord:
    """An arm of that version; `changes` are made to what it reports about its build."""
    if name == "go":
        return runtime("go", "go9.99")
    version = {"description__python__version": f"{name.removesuffix('t')}.7"}
    return with_(arm(name), **version, **changes)


def compared(journal: Journal) -> Compared:
    (found,) = StudyResults(journal.frame, journal.study).compared
    return found


def test_equal_cells_are_compared(tmp_path: Path) -> None:
    found = compared(studied(tmp_path, ("3.14t", "3.14", "3.13t", "3.13", "3.12")))
    versions = found.ratios.where("version", THROUGHPUT)
    pairs = {(each.of.arm, each.over.arm): each for each in versions}
    assert set(pairs) == {("3.13", "3.12"), ("3.14", "3.12"), ("3.14t", "3.13t")}
    assert pairs["3.13", "3.12"].point == pytest.approx(1.1, rel=0.01)
    assert pairs["3.14", "3.12"].point == pytest.approx(1.3, rel=0.01)
    assert pairs["3.14t", "3.13t"].point == pytest.approx(1.2 / 0.9, rel=0.01)
    assert {each.verdict.word for each in versions} == {"faster"}


def test_they_are_among_the_ratios_of_the_study(tmp_path: Path) -> None:
    journal = studied(tmp_path, ("3.12", "3.14"), {"3.12": {"description__python__pgo": True}})
    rows = comparison_rows(StudyResults.of(journal))
    told = rows[rows["question"] == "version"]
    assert list(told["measure"]) == ["throughput", "cpu_s_per_op"]
    assert set(told["arm"]) == {"3.14"}
    assert set(told["over_arm"]) == {"3.12"}
    assert set(told["builds_differ"]) == {"PGO"}


def test_one_version_alone_has_no_baseline(tmp_path: Path) -> None:
    found = compared(studied(tmp_path, ("3.14", "3.14t")))
    assert not found.ratios.where("version")
    assert found.ratios.where("headline")


def test_another_runtime_is_no_version(tmp_path: Path) -> None:
    assert not compared(studied(tmp_path, ("3.14", "go"))).ratios.where("version")


@pytest.mark.parametrize(
    ("change", "told", "note"),
    [
        ({}, "nothing else", False),
        ({"description__python__pgo": True}, "PGO", True),
        ({"description__python__compiler": "Clang 19"}, "compiler", True),
    ],
)
def test_what_builds_differ_in_besides_stands_beside_the_ratio(
    change: dict[str, Any], told: str, note: bool, tmp_path: Path
) -> None:
    journal = studied(tmp_path, ("3.12", "3.14"), {"3.12": change})
    (grid,) = [
        grid
        for chapter in chapters(StudyResults.of(journal))
        for grid in chapter.grids
        if grid.title == TITLE
    ]
    ((n, of, over, differ, *_),) = grid.rows
    assert (n, of, over, differ) == ("1", "3.14\nthreads", "3.12\nthreads", told)
    assert bool(grid.note) is note


def test_each_build_has_its_cost_and_its_gain(tmp_path: Path) -> None:
    """The cost is over the oldest build with the GIL, the gain is of each build over itself."""
    arms = ("3.14", "3.14t", "3.13t", "3.12")
    journal = studied(tmp_path, arms, workers=(1, 2))
    lines = version_lines(compared(journal))
    assert lines is not None
    assert (lines.oldest, lines.workers) == ("3.12", 2)
    assert [point.arm for point in lines.points] == ["3.12", "3.14", "3.13t", "3.14t"]
    for point in lines.points:
        assert np.median(point.cost) == pytest.approx(SPEEDS[point.arm], rel=0.01)
        assert np.median(point.gain) == pytest.approx(2 if "t" in point.arm else 1, rel=0.01)
    (grid,) = [
        grid
        for chapter in chapters(StudyResults.of(journal))
        for grid in chapter.grids
        if grid.title == "What each build costs and gains, with threads"
    ]
    assert [row[0] for row in grid.rows] == ["3.12", "3.14", "3.13t", "3.14t"]


@pytest.mark.parametrize(("workers", "rows"), [((1,), 1), ((1, 2), 2)])
def test_one_picture_has_the_versions_side_by_side(
    workers: Sequence[int], rows: int, tmp_path: Path
) -> None:
    journal = studied(tmp_path, ("3.12", "3.14", "3.13t", "3.14t"), workers=workers)
    with mpl.rc_context(RC):
        sheet = versions.sheet(subjects(StudyResults.of(journal)).values())
    assert sheet is not None
    assert len(sheet.panels) == rows
    for axes in sheet.all_panels:
        assert [label.get_text() for label in axes.get_xticklabels()] == ["3.12", "3.13", "3.14"]
        gil, free = (each for each in axes.containers if isinstance(each, ErrorbarContainer))
        assert np.array_equal(gil.lines[0].get_xdata(), [0, 2])
        assert np.array_equal(free.lines[0].get_xdata(), [1, 2])


def test_builds_of_one_version_are_no_picture(tmp_path: Path) -> None:
    journal = studied(tmp_path, ("3.14", "3.14t"))
    assert versions.sheet(subjects(StudyResults.of(journal)).values()) is None


def test_a_backport_that_the_older_version_needs_is_a_part_of_it(tmp_path: Path) -> None:
    packages = {"aiohttp": "3.14.5", "uvloop": "0.23.0"}
    more = {"description__packages": packages | {"typing_extensions": "4.16.0"}}
    study = studied(tmp_path, ("3.12", "3.14"), {"3.12": more}).study
    assert build_differences_of(study, ("3.12", "3.14")) == []
    other = {"description__packages": packages | {"zuvloop": "0.1"}}
    study = studied(tmp_path, ("3.12", "3.14"), {"3.14": other}).study
    assert [each.fact for each in build_differences_of(study, ("3.12", "3.14"))] == ["zuvloop"]
