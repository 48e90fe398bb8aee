"""One run judged by itself, as the driver needs it to know what must be run again.

The frame judges the same way, many runs at a time. What shows only between runs of one cell
(`mixed-allocator-state`) is no reason to run any of them again: the cell has two states.
"""

from collections.abc import Callable

from scaling.frame.ticks import measure
from scaling.frame.validity import Expectation, Figures, expectation, judge, watched_cpus
from scaling.journal.record import RunLine, StudyLine


def judge_of(study: StudyLine) -> Callable[[RunLine], str | None]:
    """A judge of the study's runs: says why a run is invalid, None where it is not."""
    cpus = watched_cpus(study.machine)
    expected = {name: expectation(arm, cpus) for name, arm in study.arms.items()}

    def invalid(run: RunLine) -> str | None:
        columns = measure([run.record])
        figures = Figures(*(float(columns[name][0]) for name in Figures.__match_args__))
        findings = judge(run, expected.get(run.cell.arm, Expectation()), figures)
        told = [f"{each.word} ({each.detail})" for each in findings if each.severity == "invalid"]
        return "; ".join(told) or None

    return invalid
