"""Other runtimes are compared with the first Python of a study, and that all differs is said."""

import re
from pathlib import Path

import matplotlib as mpl
import pytest
from msgspec.structs import replace

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal, read_journal
from scaling.journal.record import ProcessFacts, RunLine, StudyLine
from scaling.report.plots.draw import subjects
from scaling.report.plots.style import RC
from scaling.report.tables.export import comparison_rows
from scaling.study.questions import THROUGHPUT
from tests.support.comparisons import across_loops, chapter, place
from tests.support.drawn import BY_NAME
from tests.support.fabricate import Made, journal, runtime, write

TITLE = "Other runtimes over Python"
SPEEDS = {"3.14": 1.0, "3.14t": 2.0, "go": 20.0, "node": 0.5}


def studied(
    folder: Path,
    pythons: tuple[str, ...],
    *,
    loops: tuple[str, ...] = ("asyncio",),
    models: tuple[str, ...] = ("threads",),
    runtimes: tuple[str, ...] = ("go", "node"),
    runtimes_as: tuple[str, ...] = ("threads",),
    blocks: int = 8,
) -> Journal:
    """One study of Pythons, and of other runtimes on their own loops, in the same blocks."""
    several = [(pythons, loops, models), (runtimes, ("own",), runtimes_as)]
    parts = [
        journal(
            Made(
                variants={"spawn": [{}]},
                arms=arms,
                loops=on,
                models=under,
                workers=(1, 2),
                blocks=blocks,
                noise=0.002,
                speeds={(a, m, n): n * SPEEDS[a] for a in arms for m in under for n in (1, 2)},
            ),
            without_python,
        )
        for arms, on, under in several
    ]
    (study, *runs), (others, *more) = parts
    assert isinstance(study, StudyLine)
    assert isinstance(others, StudyLine)
    arms = study.arms | {name: runtime(name, f"{name} 9") for name in others.arms}
    return read_journal(write([replace(study, arms=arms), *runs, *more], folder / "journal.jsonl"))


def without_python(run: RunLine) -> RunLine:
    """A run as a runtime without GIL and pymalloc reports it."""
    if run.record is None or run.cell.loop != "own":
        return run
    facts = ProcessFacts()
    workers = [
        replace(each, process=facts) if each.process else each for each in run.record.workers
    ]
    return replace(run, record=replace(run.record, process=facts, workers=workers))


@pytest.mark.parametrize("pythons", [("3.14t", "3.14"), ("3.14", "3.14t")])
def test_it_is_as_many_threads_of_the_first_python_on_asyncio(
    tmp_path: Path, pythons: tuple[str, ...]
) -> None:
    study = studied(tmp_path, pythons, loops=("asyncio", "trio"), models=("processes", "threads"))
    found = across_loops(study).ratios.where("runtime", THROUGHPUT)
    pairs = [(place(each.of), each.of.loop, place(each.over), each.over.loop) for each in found]
    assert pairs == [
        ((runtime, "threads", n), "own", (pythons[0], "threads", n), "asyncio")
        for runtime in ("go", "node")
        for n in (1, 2)
    ]
    for each in found:
        expected = SPEEDS[each.of.arm] / SPEEDS[pythons[0]]
        assert each.point == pytest.approx(expected, rel=0.01)
    words = [each.verdict.word for each in found]
    assert words == ["faster", "faster", "slower", "slower"]


def test_a_loop_that_only_a_later_python_ran_changes_nothing(tmp_path: Path) -> None:
    study = studied(tmp_path, ("3.14", "3.14t"), loops=("asyncio", "anyio/asyncio"))
    frame = study.frame[(study.frame["arm"] != "3.14") | (study.frame["loop"] == "asyncio")]
    (found,) = [each for each in StudyResults(frame, study.study).compared if each.is_across_loops]
    assert {each.over.arm for each in found.ratios.where("runtime")} == {"3.14"}


def test_a_python_without_threads_on_asyncio_is_passed_over(tmp_path: Path) -> None:
    study = studied(tmp_path, ("3.14", "3.14t"))
    frame = study.frame[(study.frame["arm"] != "3.14") | (study.frame["workers"] == 9)]
    (found,) = [each for each in StudyResults(frame, study.study).compared if each.is_across_loops]
    assert {each.over.arm for each in found.ratios.where("runtime")} == {"3.14t"}
    without = study.frame[study.frame["loop"] == "own"]
    assert not [
        each for each in StudyResults(without, study.study).compared if each.is_across_loops
    ]


def test_the_table_says_that_they_differ_in_everything(tmp_path: Path) -> None:
    found = chapter(studied(tmp_path, ("3.14t",)), TITLE)
    assert found.title == "spawn · weak sizing"
    _, grid = found.grids
    assert grid.note.startswith("Runtimes differ in everything")
    assert [row[:3] for row in grid.rows] == [
        [n, runtime, "3.14t\nthreads\nasyncio"] for runtime in ("go", "node") for n in ("1", "2")
    ]


def test_the_answer_has_a_row_for_each(tmp_path: Path) -> None:
    answer, _ = chapter(studied(tmp_path, ("3.14t",)), TITLE).grids
    go, _, node, _ = answer.rows
    assert go[0] == "go at N = 2 over 2 threads on 3.14t with asyncio"
    assert re.fullmatch(r"(9\.9|10\.)\d*×", str(go[1]))
    assert re.fullmatch(r"[\d.]+–[\d.]+", str(go[2]))
    assert [getattr(row[3], "word", None) for row in (go, node)] == ["faster", "slower"]
    few, _ = chapter(studied(tmp_path, ("3.14t",), blocks=3), TITLE).grids
    assert {getattr(row[3], "word", None) for row in few.rows} == {"inconclusive"}


def test_they_are_among_the_ratios_of_the_study(tmp_path: Path) -> None:
    study = studied(tmp_path, ("3.14t",))
    rows = comparison_rows(StudyResults.of(study))
    assert set(rows["question"]) == {"gain", "runtime"}
    rows = rows[rows["question"] == "runtime"]
    assert set(rows["loop"]) == {"own"}
    assert set(rows["over_loop"]) == {"asyncio"}
    assert set(rows["arm"]) == {"go", "node"}
    assert set(rows["over_arm"]) == {"3.14t"}


def test_a_runtime_is_no_loop_and_no_python_is_a_runtime(tmp_path: Path) -> None:
    found = across_loops(studied(tmp_path, ("3.14t",), loops=("asyncio", "uvloop")))
    assert {each.of.loop for each in found.ratios.where("loop")} == {"uvloop"}
    assert {each.of.arm for each in found.ratios.where("runtime")} == {"go", "node"}


def test_it_is_drawn_beside_every_loop(tmp_path: Path) -> None:
    study = studied(tmp_path, ("3.14t",), loops=("asyncio", "uvloop"))
    (subject,) = subjects(StudyResults.of(study)).values()
    assert subject.loops == ["asyncio", "uvloop"]
    with mpl.rc_context(RC):
        sheet = BY_NAME["throughput"].draw(subject)
    for axes, loop in zip(sheet.all_panels, subject.loops, strict=True):
        assert axes.get_title(loc="left") == loop
        bars = sorted(str(each.get_label()) for each in axes.containers)
        assert bars == ["3.14t threads", "go threads", "node threads"]


def test_gos_processes_are_drawn_beside_every_loop_and_decide_nothing(tmp_path: Path) -> None:
    study = studied(
        tmp_path,
        ("3.14", "3.14t"),
        loops=("asyncio", "uvloop"),
        models=("threads", "processes"),
        runtimes=("go",),
        runtimes_as=("processes",),
    )
    found = StudyResults.of(study)
    (subject,) = subjects(found).values()
    for loop in subject.loops:
        drawn = [(curve.key.arm, curve.key.model) for curve in subject.on(loop, "processes")]
        assert ("go", "processes") in drawn
    alone = [each for each in found.judged if not each.is_across_loops]
    (go,) = [g for each in alone for g in each.ratios.where("gain") if g.of.arm == "go"]
    assert go.point == pytest.approx(2, rel=0.01)
    assert not go.is_headline
    for each in alone:
        assert all(base.throughput.over.arm == "3.14" for base in each.over_processes)
        assert "go" not in [best.arm for best in each.ceiling]
    assert not across_loops(study).ratios.where("runtime")


def test_alone_it_has_a_panel_of_its_own(tmp_path: Path) -> None:
    study = studied(tmp_path, ("3.14t",))
    alone = StudyResults(study.frame[study.frame["arm"] == "go"], study.study)
    (subject,) = subjects(alone).values()
    assert subject.loops == ["own"]
    assert [curve.key.arm for curve in subject.on("own")] == ["go"]
