"""What was run, on what, how to repeat it, and how far the figures can be trusted."""

from typing import Any

import msgspec
import pandas as pd
import tomli_w

from scaling.analysis.results import StudyResults
from scaling.analysis.soundness import FACTS, ControlOutcome
from scaling.analysis.statistics.noise import COLUMNS
from scaling.analysis.table.groups import labels, short_labels
from scaling.base import formats
from scaling.journal.record import ArmRecord, StudyLine
from scaling.report.page.parts import Block
from scaling.report.tables.comparison import doubts, warnings_of
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.laws import law_grids
from scaling.report.tables.notes import machine_text, refused_chapters, study_notes, turns_text
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
    return Block(
        words=words,
        grids=grids,
        code=f"# {command(study)}\n\n{document}",
        code_title="The study file",
    )


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


# -------------------------------------------------------------------------------------------- trust
# Laws, noise, steadiness and drift, controls, and runs that were left out or marked.

# PSS and RSS as they are.
MEASURES = {
    "throughput": "throughput",
    "cpu_s_per_op": "CPU per op",
    "latency_p99_s": "P99 latency",
}
AA_PAIRS = (
    "Some cells of each workload were run twice in every block. Without noise the ratio of the two "
    "would be 1. Where one of these ratios is called different, verdicts on its measure are "
    "withheld."
)
TURNS = (
    "Cells that take turns are alive together: one works for a moment while the others wait, so "
    "that what the machine does meanwhile happens to all of them. The time in which a cell waits "
    "is in none of its figures."
)
UNKNOWN = (
    "No A/A pairs were run, so nothing checks the verdicts, and run-to-run noise is not known."
)
WITHOUT_DRIFT = {
    "none": "No drift of the machine was found over the study.",
    "inconclusive": "Too few blocks to detect a drift of the machine over the study.",
}
HIGHEST, LOWER = "latency_p99_s", ("latency_p95_s", "latency_p90_s", "latency_p50_s")
WORST_FIRST = ("invalid", "suspect", "valid")


def law_blocks(results: StudyResults) -> list[Block]:
    """The laws of a study's curves; nothing where none could be fitted."""
    return [Block(grids=[grid]) for grid in law_grids(results)]


def noise_block(results: StudyResults) -> Block:
    """The spread of A/A pairs: equal cells, run twice in every block."""
    floor, turns = results.floor, turns_text(results.ratios)
    taken = [f"{TURNS} {turns}"] if turns else []
    if not floor.pairs:
        return Block(words=[UNKNOWN, *taken])
    rows: list[list[Cell]] = []
    known = [each for each in COLUMNS if any(pair.ratios[each].n for pair in floor.pairs)]
    shown = [each for each in known if each not in LOWER or HIGHEST not in known]
    variants = ((pair.cell.workload, pair.cell.parameters) for pair in floor.pairs)
    named = short_labels(variants, simulated=False)
    for pair in floor.pairs:
        cell = pair.cell
        what = named[cell.workload, cell.parameters]
        name = f"{what} · {cell.sizing} · {cell.loop} · {cell.arm} · {cell.model}"
        farthest = pair.floor("throughput")
        rows.append(
            [
                name,
                str(cell.workers),
                *(pair.ratios[measure] for measure in shown),
                formats.percent(farthest),
            ]
        )
    headings = ["cell", "N", *(MEASURES.get(each, each) for each in shown), "spread, throughput"]
    grid = Grid("Repeated cell over cell", headings, rows, words=2)
    return Block(words=[AA_PAIRS, *taken], grids=[grid])


def steadiness_block(results: StudyResults) -> Block:
    """How many windows were steady, and whether the machine drifted."""
    frame, drift = results.frame, results.drift
    windowed = frame[frame["valid"] & frame["steadiness"].notna()]
    grids = []
    if len(windowed):
        counts = pd.crosstab(windowed["workload"].astype(str), windowed["steadiness"].astype(str))
        rows: list[list[Cell]] = [
            [str(name), *map(str, row)]
            for name, row in zip(counts.index, counts.to_numpy().tolist(), strict=True)
        ]
        title = "Runs by steadiness of their window"
        grids.append(Grid(title, ["workload", *map(str, counts.columns)], rows))
    spans = (
        ("first block to last", drift.over_time, drift.word),
        ("beginning of a block to its end", drift.over_block, drift.word_over_block),
    )
    changes: list[list[Cell]] = [
        [span, word, value.scaled(100, "%") if value.n else formats.BLANK]
        for span, value, word in spans
    ]
    grids.append(Grid("Drift of the study", ["from", "drift", "change, %"], changes, words=2))
    words = [] if drift.text else [WITHOUT_DRIFT.get(drift.word, "")]
    return Block(words=[*filter(None, words), *study_notes(frame, drift)], grids=grids)


def validity_blocks(results: StudyResults) -> list[Block]:
    """The outcome of the controls, and every suspect or invalid run."""
    holds = ["The controls hold."] if results.soundness.status == "sound" else []
    warnings = warnings_of(results) or holds
    judged: list[list[Cell]] = [
        [each.cell.workload, each.cell.loop, each.cell.arm, str(each.cell.workers), each.speedup,
         each.expected, _word(each)]
        for each in results.outcomes
    ]  # fmt: skip
    headings = ["control", "loop", "arm", "N", "speed-up", "must be", "outcome"]
    grids = [Grid("Controls", headings, judged, words=3)] if judged else []
    counts = results.frame["validity"].value_counts()  # of A/A pairs, too, which are listed below
    kinds = ", ".join(f"{counts[each]:,} {each}" for each in WORST_FIRST if counts.get(each, 0))
    runs = formats.plural(int(counts.sum()), "run")
    used = "Suspect runs are used and marked; invalid ones are excluded from every figure."
    words = [f"{runs}: {kinds}. {used}"]
    faults: list[list[Cell]] = [
        [each.validity, str(each.runs), each.cell, each.reasons, each.detail]
        for each in results.run_issues
    ]
    headings = ["validity", "runs", "cell", "why", "the first one's detail"]
    title = "Suspect and invalid runs"
    listed = [Grid(title, headings, faults, words=len(headings))] if faults else []
    return [
        Block("Controls", warnings, grids=grids),
        Block("Runs", words, grids=listed),
    ]


def _word(outcome: ControlOutcome) -> str:
    if not outcome.speedup.n:
        return "no valid run"
    if outcome.fails:
        return "fails"
    return "holds" if outcome.holds else "undecided"
