"""What must be known before a study's figures are read, in words: what was refused, drift, margins,
turns, few cores, few collections.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable
from itertools import groupby
from operator import attrgetter

import numpy as np
import pandas as pd

from scaling.analysis.blocks import NO_TURNS, OTHER_N
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import RunIssue, Section
from scaling.analysis.statistics.drift import Drift
from scaling.analysis.statistics.verdict import reach
from scaling.analysis.table.groups import CELL, originals
from scaling.analysis.table.load import Journal
from scaling.analysis.table.processes import SHARED_CORES
from scaling.analysis.validity.finding import watched_cpus
from scaling.base import formats
from scaling.builds.arms import build_of, switched
from scaling.journal.record import Machine, Parameters, PythonFacts, StudyLine
from scaling.report.tables.findings import named
from scaling.report.tables.grid import Cell, Chapter, Grid
from scaling.report.tables.rates import is_served
from scaling.study.controls import CONTROLS
from scaling.study.load import open_loop_rate
from scaling.study.questions import CPU, THROUGHPUT

# -------------------------------------------------------------------------------------- study notes
# Notes on a study as a whole: drift and outliers, above its tables; the machine it was run on.


def study_notes(frame: pd.DataFrame, drift: Drift) -> list[str]:
    """A sentence for each note; often none."""
    arms = map(str, frame["arm"].unique())
    return [note for note in (*switched(arms), drift.text, _outliers(frame)) if note]


def _outliers(frame: pd.DataFrame) -> str:
    """`2 runs are outliers of their cells, labelled and kept`."""
    count = int((frame["outlier"] & frame["valid"]).sum())
    if not count:
        return ""
    are = "is an outlier of its cell" if count == 1 else "are outliers of their cells"
    return f"{formats.plural(count, 'run')} {are}: labelled, and kept in every figure."


def issues_by_kind(found: Iterable[RunIssue]) -> list[list[RunIssue]]:
    """Run issues with the same validity and reasons together."""
    kind = attrgetter("validity", "reasons")
    return [list(group) for _, group in groupby(sorted(found, key=kind), key=kind)]


def machine_text(machine: Machine) -> str:
    """`Example CPU, 2 cores, 4 CPUs, 2 NUMA nodes, virtual machine (kvm), Linux 6.1`."""
    cores, cpus = machine.physical_cores, machine.usable_cpus
    nodes, slower = machine.numa_nodes or 1, machine.efficiency_cpus or 0
    not_all_ours = machine.logical_cpus and watched_cpus(machine) is None
    parts = [
        machine.cpu_model or "",
        formats.plural(cores, "core") if cores else "",
        formats.plural(cpus, "usable CPU") if cpus and cpus != cores else "",
        f"CPU quota {machine.cpu_quota:g}" if machine.cpu_quota else "",
        "other programs' use of them unknown" if not_all_ours else "",
        formats.plural(nodes, "NUMA node") if nodes > 1 else "",
        formats.plural(slower, "efficiency CPU") if slower else "",
        _virtual(machine.virtualised),
        machine.kernel or "",
    ]
    return ", ".join(part for part in parts if part)


def build_text(python: PythonFacts) -> str:
    """`3.14.7t with PGO`."""
    pgo = "with" if python.pgo else "without"
    return f"{python.version}{'t' if python.free_threaded else ''} {pgo} PGO"


def _virtual(virtualised: str | None) -> str:
    """That the machine is a virtual one, and of which kind if that is known."""
    if virtualised is None:
        return ""
    return "virtual machine" + f" ({virtualised})" * (virtualised != "unknown")


# ------------------------------------------------------------------------------------------ refused
# What a study asked for and could not run, with the reasons that its plan gave.

TITLE = "What cannot be run"
HEADINGS = ["workload", "loop", "arms", "model", "sizing", "reason"]


def refused_chapters(study: StudyLine) -> list[Chapter]:
    """A table with a row for each reason; none where everything could be run."""
    rows: list[list[Cell]] = [
        [each.workload, each.loop, ", ".join(each.arms), each.model, each.sizing, each.reason]
        for each in study.refused
    ]
    return [Chapter(TITLE, [], [Grid("", HEADINGS, rows, words=len(HEADINGS))])] if rows else []


def refused_sentence(study: StudyLine) -> str:
    """`12 combinations cannot be run: see the tables.`; empty for none."""
    count = len(study.refused)
    return f"{formats.plural(count, 'combination')} cannot be run: see the tables." if count else ""


# ---------------------------------------------------------------------------------- few collections
# What is said where a study is about garbage, and the collector hardly ran.

ABOUT_GARBAGE = ("garbage_per_request", "heap_objects")
NEVER_COLLECTS = "nogc"
FEWEST_COLLECTIONS = 10  # with fewer, how they fall into a window is mostly chance
NONE, FEW = "no collections", f"fewer than {FEWEST_COLLECTIONS} collections in a window"


def collections_text(section: Section, results: StudyResults) -> str:
    """`no collections: 2 processes on 3.14; fewer than 10 collections: 2 threads on 3.14t`.

    The median of the runs counts. Empty where every configuration had enough, and in a study
    without garbage and heap; arms without a collector are left out.
    """
    workload = _of(section)
    if not any(_has_garbage(each) for each in results.sections if _of(each) == workload):
        return ""
    found: dict[str, dict[str, None]] = defaultdict(dict)  # names, each once
    for curve in section.curves:
        key, arm = curve.key, results.study.arms.get(curve.key.arm)
        if arm is not None and NEVER_COLLECTS in arm.settings:
            continue
        for n in curve.workers:
            cell = key.but(workers=n)
            counts = results.blocks.of(cell, "gc_collections")
            known = counts[np.isfinite(counts)]
            median = float(np.median(known)) if len(known) else math.inf
            if median < FEWEST_COLLECTIONS:
                words = FEW if median else NONE
                found[words][named(cell)] = None
    return "; ".join(f"{words}: {formats.listed(found[words])}" for words in sorted(found))


def collections_sentence(section: Section, results: StudyResults) -> str:
    """The same as a sentence."""
    text = collections_text(section, results)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _of(section: Section) -> str:
    return section.curves[0].key.workload


def _has_garbage(section: Section) -> bool:
    parameters = section.curves[0].key.parameters
    return any(parameters.get(name) for name in ABOUT_GARBAGE)


# ---------------------------------------------------------------------------------------- few cores
# What is said where server and load generator share their cores, and throughput says little.


def bounds(frame: pd.DataFrame, sections: Collection[Section]) -> dict[int, float]:
    """What N workers of any configuration can gain over one at most, by N, where cores are shared:
    the greatest of the cells' medians. Empty where there were cores enough.
    """
    variants = {
        (curve.key.workload, curve.key.parameters) for each in sections for curve in each.curves
    }
    runs = originals(frame[frame["valid"] & frame["shared_cores"]])
    own = [
        (workload, parameters) in variants
        for workload, parameters in zip(
            runs["workload"], map(Parameters.read, runs["parameters"]), strict=True
        )
    ]
    cells = runs[np.array(own, np.bool_)].groupby(list(CELL), observed=True)["gain_bound"].median()
    greatest = cells.groupby(level="workers").max()
    found = {int(str(n)): float(bound) for n, bound in greatest.items()}
    return {n: bound for n, bound in found.items() if n > 1 and math.isfinite(bound)}


def bound_text(found: dict[int, float]) -> str:
    """`shared cores: at most ×1.4 at N = 2`; empty where there were cores enough."""
    parts = [f"×{formats.number(bound)} at N = {n}" for n, bound in sorted(found.items())]
    return f"{SHARED_CORES}: N workers gain at most {formats.listed(parts)}" if parts else ""


# ------------------------------------------------------------------------------------------ margins


LAYOUT = 0.04  # what the layout of their code alone may make of the speed of two binaries


def margins(ratios: Iterable[Ratio]) -> list[str]:
    """The margin that these ratios are judged by, and a note where a small difference of two builds
    may be due to the layout of their code; nothing without a verdict.
    """
    judged = [each for each in ratios if each.coverage is not None]
    if not judged:
        return []
    used = formats.percent(judged[0].verdict.margin)
    said = [f"Verdicts use a margin of ±{used}: what differs by less is the same."]
    if any(map(_may_be_layout, judged)):
        said.append(
            f"A ratio of two builds within {formats.percent(LAYOUT)} of 1 holds for these binaries "
            "only: the layout of their code alone may make as much difference."
        )
    return said


def _may_be_layout(ratio: Ratio) -> bool:
    """Whether it is a ratio of speed, of two builds, and this close to 1."""
    low, high = reach(LAYOUT)
    of, over = build_of(ratio.of.arm), build_of(ratio.over.arm)
    return ratio.measure in (THROUGHPUT, CPU) and low <= ratio.point <= high and of != over


def turns_text(ratios: Iterable[Ratio]) -> str:
    """Of which questions the cells were measured in turn, and of which not and why.

    Empty where no journal says so: in those of studies that knew no turns.
    """
    asked: dict[str, dict[str, None]] = {}
    for each in ratios:
        asked.setdefault(each.why_apart, {})[each.question] = None
    if asked.keys() <= {NO_TURNS, OTHER_N}:
        return ""
    questions = asked.pop("", None)
    told = [f"Measured in turn: {formats.listed(questions or ['nothing'])}"]
    told += [f"not: {formats.listed(names)} ({why})" for why, names in asked.items()]
    return f"{'; '.join(told)}."


def spread_text(results: StudyResults, *, brief: bool = False) -> str:
    """How noisy the machine was: the spread of the A/A pairs of each workload, in throughput; in an
    open loop, where throughput is what was asked for, in P99. A `brief` text does not name them.
    """
    every = results.floor.pairs
    pairs = [each for each in every if each.cell.workload not in CONTROLS] or every
    if not pairs:
        return "Noise: no A/A pairs were run, so nothing checks the verdicts."
    spreads: dict[str, list[float]] = {}
    for each in pairs:
        is_rated = open_loop_rate(each.cell.parameters) is not None
        is_open = is_rated and is_served(each.cell, results.study)
        spread = each.floor("latency_p99_s" if is_open else "throughput")
        if math.isfinite(spread):
            name = f"{each.cell.workload}{', P99' if is_open else ''}"
            spreads.setdefault(name, []).append(spread)
    known = [f"±{formats.percents(found)} ({name})" for name, found in spreads.items()]
    if not known:
        return "Noise: no A/A pair says how much runs differ (none valid, or too few requests)."
    if brief:
        known = [f"±{formats.percents(each for found in spreads.values() for each in found)}"]
    return f"Noise of equal cells (A/A pairs): {formats.listed(known)}."


# -------------------------------------------------------------------------------------------- about
# What goes with a study's figures wherever they go: what they are of, and whether they hold.


def about(journal: Journal) -> dict[str, str]:
    """Names and values, none of them empty: what was studied, where, and what its controls say."""
    study, machine = journal.study, journal.study.machine
    known = {
        "study": study.name,
        "scaling": study.scaling,
        "seed": study.seed,
        "scale": study.study.get("scale", 1.0),
        "simulated": "true" if study.simulated else "",
        "controls": StudyResults.of(journal).soundness.status,
        "cpu_model_name": machine.cpu_model,
        "cpu_count": machine.logical_cpus,
        "platform": machine.kernel,
    }
    return {name: str(value) for name, value in known.items() if value not in (None, "")}
