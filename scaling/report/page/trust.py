"""How far the figures can be trusted: laws, noise, steadiness and drift, controls, run issues."""

import pandas as pd

from scaling.analysis.results import StudyResults
from scaling.analysis.soundness import ControlOutcome
from scaling.analysis.statistics.noise import COLUMNS
from scaling.analysis.table.groups import short_labels
from scaling.base import formats
from scaling.report.page.parts import Block
from scaling.report.tables.comparison import warnings_of
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.laws import law_lines
from scaling.report.tables.notes import study_notes, turns_text
from scaling.report.tables.rates import free_sections

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
    """The laws that each section's curves follow, or why none was fitted."""
    return [Block(each.title, law_lines(each)) for each in free_sections(results)]


def noise_block(results: StudyResults) -> Block:
    """The spread of A/A pairs: equal cells, run twice in every block."""
    floor, turns = results.floor, turns_text(results.ratios)
    taken = [f"{TURNS} {turns}"] if turns else []
    if not floor.pairs:
        return Block(words=[UNKNOWN, *taken])
    rows: list[list[Cell]] = []
    known = [each for each in COLUMNS if any(pair.ratios[each].n for pair in floor.pairs)]
    shown = [each for each in known if each not in LOWER or HIGHEST not in known]
    variants = ((pair.key.workload, pair.key.parameters) for pair in floor.pairs)
    labels = short_labels(variants, simulated=False)
    for pair in floor.pairs:
        key = pair.key
        what = labels[key.workload, key.parameters]
        name = f"{what} · {key.sizing} · {key.loop} · {key.arm} · {key.model}"
        farthest = pair.floor("throughput")
        rows.append(
            [
                name,
                str(pair.workers),
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
        [each.control, each.loop, each.arm, str(each.workers), each.speedup, _expected(each),
         _word(each)]
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


def _expected(outcome: ControlOutcome) -> str:
    if outcome.least is None:
        return f"at most {outcome.most:g}"
    return f"at least {outcome.least:g}"


def _word(outcome: ControlOutcome) -> str:
    if not outcome.speedup.n:
        return "no valid run"
    if outcome.fails:
        return "fails"
    return "holds" if outcome.holds else "undecided"
