"""Arms are compared rung by rung of the ladder, with each setting, and version by version.

The factors of the ladder multiply to the headline; a setting is over the same arm without it, a
version over the oldest. Builds that differ in more than what is compared are flagged."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer

from scaling.analysis.comparison import Compared, Ladder, ladders, version_lines
from scaling.analysis.soundness import build_differences, build_differences_of
from scaling.journal.record import ArmRecord, RunLine, StudyLine
from scaling.report.page.answer import answer_block
from scaling.report.plots import versions
from scaling.report.plots.draw import subjects
from scaling.report.plots.style import RC
from scaling.report.tables.comparison import chapters, doubts
from scaling.report.tables.export import comparison_rows
from scaling.report.tables.grid import Grid
from scaling.report.tables.headline import other_ratios
from scaling.report.terminal.answer import answer_lines
from scaling.study.questions import THROUGHPUT
from tests.support.runs import crashed, throttled, with_, with_speed
from tests.support.studies import FakeStudy, arm, place, runtime

RUNGS = ("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t")
FACTORS = {"allocator": 2.1, "build": 0.9, "GIL": 1.9}
LEVELS = (1.0, 2.1, 2.1 * 0.9, 2.1 * 0.9 * 1.9)
OF_RUNGS = {
    (arm, "threads", n): n * level for arm, level in zip(RUNGS, LEVELS, strict=True) for n in (1, 2)
}
KNOWN = FakeStudy(arms=RUNGS, workers=(1, 2), noise=0, tick_noise=0, speeds=OF_RUNGS)


def factors(ladder: Ladder) -> dict[str, float]:
    return {step.name: step.point for step in ladder.steps}


def test_known_factors_are_found_again() -> None:
    one, two = ladders(KNOWN.compared)
    assert (one.workers, two.workers) == (1, 2)
    for ladder in (one, two):
        assert factors(ladder) == pytest.approx(FACTORS, rel=1e-3)
        assert ladder.headline.point == pytest.approx(LEVELS[-1], rel=1e-3)
        assert ladder.product == pytest.approx(ladder.headline.point, rel=1e-3)
        assert ladder.multiplies_out
        assert ladder.missing == []
        assert [each.arm for each in ladder.cells] == list(RUNGS)


@pytest.mark.parametrize("blocks", [3, 8])
def test_factors_multiply_exactly_in_each_block(blocks: int) -> None:
    made = FakeStudy(arms=RUNGS, workers=(2,), blocks=blocks, noise=0.1)
    (ladder,) = ladders(made.compared)
    for block, whole in enumerate(ladder.headline.blocks):
        product = 1.0
        for step in ladder.steps:
            product *= step.blocks[block]
        assert product == pytest.approx(whole, rel=1e-12)
    assert (ladder.headline.coverage is not None) == (blocks >= 6)


@pytest.mark.parametrize(
    ("arms", "names", "missing"),
    [
        (("3.14", "3.14t+gil", "3.14t"), ["allocator and build", "GIL"], ["3.14+mimalloc"]),
        (("3.14", "3.14+mimalloc", "3.14t"), ["allocator", "build and GIL"], ["3.14t+gil"]),
        (("3.14", "3.14t"), ["allocator, build and GIL"], ["3.14+mimalloc", "3.14t+gil"]),
        (("3.14t+gil", "3.14t"), ["GIL"], []),
        (("3.14t", "3.14"), ["allocator, build and GIL"], ["3.14+mimalloc", "3.14t+gil"]),
    ],
)
def test_a_rung_that_is_missing_joins_its_steps(
    arms: tuple[str, ...], names: list[str], missing: list[str]
) -> None:
    ladder, _ = ladders(FakeStudy(arms=arms, workers=(1, 2)).compared)
    assert [step.name for step in ladder.steps] == names
    assert ladder.missing == missing
    assert ladder.top.arm == "3.14t"


def test_a_rung_whose_runs_are_invalid_is_not_stepped_on() -> None:
    def change(run: RunLine) -> RunLine:
        return crashed(run) if run.cell.arm == "3.14t+gil" else run

    (ladder,) = ladders(FakeStudy(arms=RUNGS, workers=(2,), change=change).compared)
    assert [step.name for step in ladder.steps] == ["allocator", "build and GIL"]


def test_a_rung_that_mostly_failed_takes_no_block_from_the_others() -> None:
    def change(run: RunLine) -> RunLine:
        return crashed(run) if run.cell.arm == "3.14+mimalloc" and run.block else run

    made = FakeStudy(arms=RUNGS, workers=(2,), blocks=8)
    (ladder,) = ladders(replace(made, change=change).compared)
    assert ladder.missing == ["3.14+mimalloc"]
    assert ladder.headline.n == 8


def test_an_invalid_run_takes_its_block_out_of_all_factors() -> None:
    """It would be ten times as fast; no factor may include it."""

    def change(run: RunLine) -> RunLine:
        return throttled(with_speed(run, 10)) if (run.block, run.cell.arm) == (1, "3.14t") else run

    one, two = ladders(replace(KNOWN, change=change).compared)
    for ladder in (one, two):
        assert {step.n for step in ladder.steps} == {ladder.headline.n} == {2}
        assert factors(ladder) == pytest.approx(FACTORS, rel=1e-3)


def test_medians_that_do_not_multiply_out_are_called_so() -> None:
    """Arms that are slow in some blocks only: the headline stays, the factors' medians do not."""
    slow: dict[int, set[str]] = {0: {"3.14+mimalloc"}, 1: {"3.14+mimalloc", "3.14t+gil"}, 2: set()}

    def change(run: RunLine) -> RunLine:
        return with_speed(run, 1 / 3) if run.cell.arm in slow[run.block] else run

    for ladder in ladders(replace(KNOWN, change=change).compared):
        assert ladder.headline.point == pytest.approx(LEVELS[-1], rel=1e-3)
        assert factors(ladder) == pytest.approx(FACTORS | {"allocator": 0.7}, rel=1e-3)
        assert not ladder.multiplies_out


def test_every_version_has_its_own_ladder() -> None:
    arms = ("3.13", "3.13t", "3.14", "3.14t", "3.15", "3.14+nogc")
    found = ladders(FakeStudy(arms=arms, workers=(2,)).compared)
    assert [(ladder.bottom.arm, ladder.top.arm) for ladder in found] == [
        ("3.13", "3.13t"),
        ("3.14", "3.14t"),
    ]


WITH, WITHOUT = "3.14t", "3.14t+nogc"
OF_SETTINGS = {
    (WITH, "threads", 1): 1.0,
    (WITHOUT, "threads", 1): 1.25,
    (WITH, "threads", 2): 1.2,
    (WITHOUT, "threads", 2): 2.4,
}
COLLECTED = FakeStudy(
    arms=(WITH, WITHOUT), workers=(1, 2), blocks=8, noise=1e-4, speeds=OF_SETTINGS
)
SWITCHES = FakeStudy(
    arms=("3.13", "3.13+new-scheduler", "3.13+io-uring"), workers=(1,), blocks=8, aa_pairs=True
)


def test_a_setting_is_over_the_same_arm_without_it() -> None:
    one, two = COLLECTED.results.ratios.where("setting", THROUGHPUT)
    assert (place(one.of), place(one.over)) == ((WITHOUT, "threads", 1), (WITH, "threads", 1))
    assert one.point == pytest.approx(1.25, rel=1e-2)
    assert two.point == pytest.approx(2.0, rel=1e-2)
    assert two.verdict.word == "faster"


def test_a_setting_is_reported_in_a_table_and_among_the_ratios() -> None:
    shown = [grid.title for each in chapters(COLLECTED.results) for grid in each.grids]
    assert "What a setting changes" in shown
    (compared, *_) = COLLECTED.results.compared
    assert {ratio.figure for ratio in compared.ratios.where("setting")} == {
        "throughput",
        "cpu_s_per_op",
    }


@pytest.mark.parametrize("arms", [(WITH, "3.14"), (WITHOUT, "3.14")])
def test_no_ratio_where_one_of_the_two_is_missing(arms: tuple[str, ...]) -> None:
    study = FakeStudy(arms=arms, workers=(1, 2))
    assert not study.results.ratios.where("setting")


def test_a_study_of_switches_ends_with_a_ratio_for_each() -> None:
    """It has one worker, so no gain; its answer is each arm over the one without the switch."""
    results = SWITCHES.results
    names = [each.name for each in other_ratios(results)]
    assert names == [
        "echo: 1 thread on 3.13+new-scheduler over 3.13",
        "echo: 1 thread on 3.13+io-uring over 3.13",
    ]
    assert {each.ratio.verdict.family for each in other_ratios(results)} == {"exploratory"}
    answer = "\n".join(answer_lines(results))
    assert answer.count("over 3.13  ") == len(names)
    assert "No headline ratio" not in answer
    assert answer_block(results)[0].figures


OF_VERSIONS = {"3.12": 1.0, "3.13": 1.1, "3.14": 1.3, "3.13t": 0.9, "3.14t": 1.2, "go": 10.0}
VERSIONS = "What the versions changed"


def studied(
    *arms: str,
    changes: Mapping[str, Mapping[str, Any]] | None = None,
    workers: Sequence[int] = (1,),
) -> FakeStudy:
    """A study of these versions; `changes` are made to what an arm reports about its build."""
    speeds = {
        (arm, "threads", n): OF_VERSIONS[arm] * (n if arm.endswith("t") else 1)
        for arm in arms
        for n in workers
    }
    known = {name: found(name, **(changes or {}).get(name, {})) for name in arms}
    return FakeStudy(
        variants={"spawn": [{}]},
        arms=arms,
        workers=workers,
        blocks=8,
        speeds=speeds,
        noise=0.002,
        head={"arms": known},
    )


def found(name: str, **changes: Any) -> ArmRecord:
    if name == "go":
        return runtime("go", "go9.99")
    changed = {"description__python__version": f"{name.removesuffix('t')}.7", **changes}
    return with_(arm(name), **changed)


def compared(study: FakeStudy) -> Compared:
    (only,) = study.results.compared
    return only


def grid(study: FakeStudy, title: str) -> Grid:
    (only,) = [
        grid for chapter in chapters(study.results) for grid in chapter.grids if grid.title == title
    ]
    return only


def test_equal_cells_of_versions_are_compared() -> None:
    study = studied("3.14t", "3.14", "3.13t", "3.13", "3.12")
    versions = study.results.ratios.where("version", THROUGHPUT)
    pairs = {(each.of.arm, each.over.arm): each for each in versions}
    assert set(pairs) == {("3.13", "3.12"), ("3.14", "3.12"), ("3.14t", "3.13t")}
    assert pairs["3.13", "3.12"].point == pytest.approx(1.1, rel=0.01)
    assert pairs["3.14", "3.12"].point == pytest.approx(1.3, rel=0.01)
    assert pairs["3.14t", "3.13t"].point == pytest.approx(1.2 / 0.9, rel=0.01)
    assert {each.verdict.word for each in versions} == {"faster"}


def test_versions_are_among_the_ratios_of_the_study() -> None:
    study = studied("3.12", "3.14", changes={"3.12": {"description__python__pgo": True}})
    rows = comparison_rows(study.results)
    told = rows[rows["question"] == "version"]
    assert list(told["measure"]) == ["throughput", "cpu_s_per_op"]
    assert set(told["arm"]) == {"3.14"}
    assert set(told["over_arm"]) == {"3.12"}
    assert set(told["builds_differ"]) == {"PGO"}


def test_one_version_alone_has_no_baseline() -> None:
    found = compared(studied("3.14", "3.14t"))
    assert not found.ratios.where("version")
    assert found.ratios.where("headline")


def test_another_runtime_is_no_version() -> None:
    assert not compared(studied("3.14", "go")).ratios.where("version")


@pytest.mark.parametrize(
    ("change", "told", "note"),
    [
        ({}, "nothing else", False),
        ({"description__python__pgo": True}, "PGO", True),
        ({"description__python__compiler": "Clang 19"}, "compiler", True),
    ],
)
def test_what_builds_differ_in_besides_stands_beside_the_ratio(
    change: dict[str, Any], told: str, note: bool
) -> None:
    study = studied("3.12", "3.14", changes={"3.12": change})
    table = grid(study, VERSIONS)
    ((n, of, over, differ, *_),) = table.rows
    assert (n, of, over, differ) == ("1", "3.14\nthreads", "3.12\nthreads", told)
    assert bool(table.note) is note


def test_each_build_has_its_cost_and_its_gain() -> None:
    """The cost is over the oldest build with the GIL, the gain is of each build over itself."""
    arms = ("3.14", "3.14t", "3.13t", "3.12")
    study = studied(*arms, workers=(1, 2))
    lines = version_lines(compared(study))
    assert lines is not None
    assert (lines.oldest, lines.workers) == ("3.12", 2)
    assert [point.arm for point in lines.points] == ["3.12", "3.14", "3.13t", "3.14t"]
    for point in lines.points:
        assert np.median(point.cost) == pytest.approx(OF_VERSIONS[point.arm], rel=0.01)
        assert np.median(point.gain) == pytest.approx(2 if "t" in point.arm else 1, rel=0.01)
    table = grid(study, "What each build costs and gains, with threads")
    assert [row[0] for row in table.rows] == ["3.12", "3.14", "3.13t", "3.14t"]


@pytest.mark.parametrize(("workers", "rows"), [((1,), 1), ((1, 2), 2)])
def test_one_picture_has_the_versions_side_by_side(workers: Sequence[int], rows: int) -> None:
    study = studied("3.12", "3.14", "3.13t", "3.14t", workers=workers)
    with mpl.rc_context(RC):
        ((_, draw),) = versions.drawings(subjects(study.results).values())
        sheet = draw()
    assert len(sheet.panels) == rows
    for axes in sheet.all_panels:
        assert [label.get_text() for label in axes.get_xticklabels()] == ["3.12", "3.13", "3.14"]
        gil, free = (each for each in axes.containers if isinstance(each, ErrorbarContainer))
        assert np.array_equal(gil.lines[0].get_xdata(), [0, 2])
        assert np.array_equal(free.lines[0].get_xdata(), [1, 2])


def test_builds_of_one_version_are_no_picture() -> None:
    study = studied("3.14", "3.14t")
    assert not list(versions.drawings(subjects(study.results).values()))


def test_a_backport_that_the_older_version_needs_is_a_part_of_it() -> None:
    packages = {"aiohttp": "3.14.5", "uvloop": "0.23.0"}
    more = {"description__packages": packages | {"typing_extensions": "4.16.0"}}
    study = studied("3.12", "3.14", changes={"3.12": more}).first_line
    assert build_differences_of(study, ("3.12", "3.14")) == []
    other = {"description__packages": packages | {"zuvloop": "0.1"}}
    study = studied("3.12", "3.14", changes={"3.14": other}).first_line
    assert [each.fact for each in build_differences_of(study, ("3.12", "3.14"))] == ["zuvloop"]


def ladder_but(**change: Any) -> StudyLine:
    """A study of builds that are alike but for a change to the free-threaded ones."""
    arms = {name: arm(name) for name in RUNGS}
    free = {name: with_(made, **change) for name, made in arms.items() if "t" in made.build}
    return FakeStudy(arms=RUNGS, head={"arms": {**arms, **free}}).first_line


def test_what_an_arm_is_meant_to_differ_in_is_no_fault() -> None:
    assert build_differences(ladder_but()) == []
    assert doubts(ladder_but()) == []


@pytest.mark.parametrize(
    ("change", "fact", "told"),
    [
        ({"compiler": "Clang 19"}, "compiler", "GCC 12.2.0 (3.14, 3.14+mimalloc), Clang 19"),
        ({"pgo": True}, "PGO", "off (3.14, 3.14+mimalloc), on (3.14t+gil, 3.14t)"),
        ({"lto": True}, "LTO", "off"),
        ({"openssl": "OpenSSL 3.5.1"}, "OpenSSL", "OpenSSL 3.5.1 (3.14t+gil, 3.14t)"),
        ({"libc": "musl 1.2"}, "libc", "musl 1.2"),
        ({"version": "3.14.6"}, "version of 3.14", "3.14.6 (3.14t+gil, 3.14t)"),
        ({"config_args": ["--disable-gil", "-O3"]}, "configure options", "none"),
    ],
)
def test_each_difference_is_reported_with_its_arms(
    change: dict[str, Any], fact: str, told: str
) -> None:
    line = ladder_but(**{f"description__python__{name}": each for name, each in change.items()})
    (found,) = build_differences(line)
    assert found.fact == fact
    assert told in str(found)
    (sentence,) = doubts(line)
    assert str(found) in sentence


def test_packages_are_part_of_it() -> None:
    packages = {"aiohttp": "3.14.5"}
    (found,) = build_differences(ladder_but(description__packages=packages))
    assert str(found) == "uvloop: 0.23.0 (3.14, 3.14+mimalloc), absent (3.14t+gil, 3.14t)"


def test_what_is_not_known_is_not_compared_but_an_unknown_arm_is_listed() -> None:
    assert build_differences(ladder_but(description__python__compiler=None)) == []
    (found,) = build_differences(ladder_but(description=None))
    assert str(found) == "build: not known (3.14t+gil, 3.14t)"


def test_two_versions_may_be_compared() -> None:
    older = with_(arm("3.13"), description__python__version="3.13.9", description__packages={})
    line = FakeStudy(head={"arms": {"3.13": older, "3.14": arm("3.14")}}).first_line
    assert [each.fact for each in build_differences(line)] == ["aiohttp", "uvloop"]
