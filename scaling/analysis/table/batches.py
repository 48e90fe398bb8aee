"""Runs with their figures, ready to be judged: one or many at a time, by the same code."""

from collections.abc import Mapping, Sequence

import numpy as np

from scaling.analysis.table.fields import outside
from scaling.analysis.table.ticks import measure
from scaling.analysis.validity import Batch, Expectation, expectation, watched_cpus
from scaling.journal.record import RunLine, StudyLine


def expectations(study: StudyLine) -> dict[str, Expectation]:
    """What the runs of each arm of a study are held against."""
    cpus = watched_cpus(study.machine)
    return {name: expectation(arm, cpus) for name, arm in study.arms.items()}


def batch_of(runs: Sequence[RunLine], expected: Mapping[str, Expectation]) -> Batch:
    """The runs as a batch; what an arm that the study does not name promises is not known."""
    figures = measure([run.record for run in runs]) | outside(runs)
    measured = [
        run.outcome == "measured" and run.record is not None and run.record.outcome == "measured"
        for run in runs
    ]
    return Batch(
        runs=runs,
        expected=[expected.get(run.cell.arm, Expectation()) for run in runs],
        figures=figures,
        measured=np.array(measured) & ~np.isnan(figures["throughput_per_s"]),
    )
