"""What was run and on what: the study's workloads, machine and builds, as tables."""

from scaling.analysis.comparison.build_differences import FACTS
from scaling.analysis.results import StudyResults
from scaling.analysis.table.labels import labels
from scaling.base import formats
from scaling.journal.record import ArmRecord, StudyLine
from scaling.report.page.parts import Block
from scaling.report.tables.comparison import doubts
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.refused import refused_chapters
from scaling.report.tables.study_notes import machine_text

GIB = 2.0**30


def question_block(results: StudyResults) -> Block:
    """What every worker ran, in words, and with which parameters; what could not be run."""
    names = labels(results.frame)
    keys = dict.fromkeys(
        (curve.key.workload, curve.key.parameters)
        for section in results.sections
        for curve in section.curves
    )
    words: dict[str, str] = {}
    rows: list[list[Cell]] = []
    for workload, parameters in keys:
        note = results.study.workloads.get(workload)
        if note and note.summary:
            words[workload] = f"{workload}: {note.summary} Counted are {note.operation}."
        for name, value in parameters.items():
            rows.append([names[workload, parameters], name, formats.parameter(value)])
    grid = Grid("Parameters of the workloads", ["workload", "parameter", "value"], rows, words=3)
    refused = refused_chapters(results.study)
    return Block(
        words=list(words.values()),
        grids=[grid.of(each.title) for each in refused for grid in each.grids],
        folded=[grid] if rows else [],
    )


def machine_block(study: StudyLine) -> Block:
    """The machine in a line; what each arm runs on; what the builds should not differ in and do."""
    memory_bytes = study.machine.memory_bytes
    memory = f", {formats.number(memory_bytes / GIB)} GiB of memory" if memory_bytes else ""
    return Block(
        words=[f"{machine_text(study)}{memory}.", *doubts(study)],
        grids=[_builds(study)],
        folded=[_packages(study)],
    )


def _builds(study: StudyLine) -> Grid:
    arms = study.arms
    builds = {name: _build(arm) for name, arm in arms.items()}
    facts = list(dict.fromkeys(fact for each in builds.values() for fact in each))
    rows: list[list[Cell]] = [
        [fact, *(builds[name].get(fact) or formats.BLANK for name in arms)] for fact in facts
    ]
    return Grid("The arms and their builds", ["", *arms], rows, words=1 + len(arms))


def _build(arm: ArmRecord) -> dict[str, str | None]:
    """What is known of an arm's build, and what its settings had to prove of themselves."""
    if arm.description is None:
        return {"version": arm.runtime, "from": arm.origin}
    python, reads_back = arm.description.python, arm.expected
    proven: dict[str, str | None] = {
        "GIL": "on" if reads_back.gil_enabled else "off",
        "allocator": reads_back.allocator,
        "garbage collector": "on" if reads_back.gc_enabled else "off",
        **{name: str(value) for name, value in reads_back.switches.items()},
    }
    facts = {fact: of(arm.description) for fact, of in FACTS.items()}
    return {"version": python.version, "from": arm.origin, **proven, **facts}


def _packages(study: StudyLine) -> Grid:
    known = {name: arm.description for name, arm in study.arms.items() if arm.description}
    packages = sorted({package for each in known.values() for package in each.packages})
    rows: list[list[Cell]] = [
        [package, *(each.packages.get(package, formats.BLANK) for each in known.values())]
        for package in packages
    ]
    return Grid("Packages that were there", ["package", *known], rows, words=1 + len(known))
