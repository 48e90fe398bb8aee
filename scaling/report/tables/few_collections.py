"""What is said where a study is about garbage, and the collector hardly ran."""

import math
from collections import defaultdict

import numpy as np

from scaling.analysis.curves.sections import Section
from scaling.analysis.results import StudyResults
from scaling.analysis.served.course import FEWEST_COLLECTIONS
from scaling.base import formats
from scaling.report.tables.phrases import named

ABOUT_GARBAGE = ("garbage_per_request", "heap_objects")
NEVER_COLLECTS = "nogc"
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
