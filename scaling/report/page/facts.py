"""What was run, on what, and how to repeat it: the study's workloads, machine, builds and file."""

from typing import Any

import msgspec
import tomli_w

from scaling.analysis.results import StudyResults
from scaling.analysis.soundness import FACTS
from scaling.analysis.table.groups import labels
from scaling.base import formats
from scaling.journal.record import ArmRecord, StudyLine
from scaling.report.page.parts import Block
from scaling.report.tables.comparison import doubts
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.notes import machine_text, refused_chapters
from scaling.study.file import ENTRY, FILE
from scaling.study.settle import scaled_to

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
        words=[f"{machine_text(study.machine)}{memory}.", *doubts(study)],
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


# -------------------------------------------------------------------------------------------- again
# How to repeat a study: its file, the command, and what it was measured with.

FILE_NAME = "study.toml"


def again_block(study: StudyLine) -> Block:
    """The study file to save and the command to type, seed, versions and digests."""
    facts: dict[str, object] = {
        "seed": study.seed,
        "blocks": study.blocks,
        "begun": study.started_at,
        "scaling": study.scaling,
        "pins of the measured environment (SHA-256)": study.pins,
        "source of the workers (SHA-256)": study.workers_source,
        "fingerprint of the study": study.fingerprint,
        "machine": study.machine.id,
    }
    rows: list[list[Cell]] = [
        [name, formats.BLANK if value is None else str(value)] for name, value in facts.items()
    ]
    grids = [Grid("What the study was measured with", ["fact", "value"], rows, words=2)]
    document = study_file(study)
    if not document:
        return Block(words=["The journal does not contain the study file."], grids=grids)
    words = [f"Save this as {FILE_NAME}; its first line is the command that runs it."]
    if own := [name for name in study.workloads if ":" in name]:
        words.append(f"It also needs the code of {', '.join(own)}: see --path and --with.")
    if scaled := scaled_to(study.study):
        words.append(f"The amounts in it are {scaled} already.")
    return Block(words=words, grids=grids, code=f"# {command(study)}\n\n{document}")


def command(study: StudyLine) -> str:
    """What to type for the study in a file; only builds with PGO, if its own had that."""
    known = [arm.description.python.pgo for arm in study.arms.values() if arm.description]
    pgo = " --pgo" if known and all(known) else ""
    return f"scaling run --study {FILE_NAME}{pgo}"


def study_file(study: StudyLine) -> str:
    """The settled study as a study file, which gives the same cells; empty where it is not known.

    Its amounts are those that were run, so it has no scale.
    """
    entries = study.study.get("workloads")
    if not entries:
        return ""
    document = _said(study.study, FILE)
    document.pop("scale", None)
    document["workloads"] = [_said(entry, ENTRY) for entry in entries]
    return tomli_w.dumps(document)


def _said(values: dict[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The values in a journal that a study file can have; TOML has no null."""
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    return {name: values[name] for name in names if values.get(name) is not None}
