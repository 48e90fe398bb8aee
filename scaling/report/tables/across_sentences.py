"""What must be known before two studies are compared, in words."""

from collections.abc import Sequence
from itertools import groupby

from scaling.analysis.between_studies import Across
from scaling.analysis.curves.sections import RunIssue
from scaling.analysis.statistics.estimate import Estimate
from scaling.base import formats
from scaling.report.tables.phrases import ratios_note


def changed(found: Across, figures: Sequence[Estimate]) -> list[str]:
    """The notes that stand above the comparison of two studies, and above these figures."""
    lines = []
    if found.is_backwards:
        began = [each.study.started_at for each in (found.then, found.now)]
        lines.append(
            "The study named first began after the one named second "
            f"({began[0]}, {began[1]}): swap them."
        )
    if found.differences:
        lines.append(f"Not the same in both: {'; '.join(found.differences)}.")
    lines.append("The studies were not run side by side: ratios are unpaired.")
    if figures:
        lines.append(ratios_note(figures, "ratios unpaired"))
    alone = [
        f"{formats.plural(count, 'cell')} only in the {which}"
        for study, which in ((found.then, "earlier"), (found.now, "later"))
        if (count := len(study.blocks.cells) - len(found.cells))
    ]
    if alone:
        lines.append(f"Left out: {', '.join(alone)}.")
    for study, which in ((found.then, "earlier"), (found.now, "later")):
        if without := found.without_run(study):
            cells = formats.plural(len(without), "cell")
            lines.append(
                f"Left out, {cells} without a valid run in the {which}: {'; '.join(without)}."
            )
    if others := found.across_states:
        names = "; ".join(found.now.names[each] for each in others)
        lines.append(f"In another allocator state than before, which the ratio includes: {names}.")
    return lines


def doubted(name: str, found: list[RunIssue]) -> list[str]:
    """The suspect and invalid runs of a study: a sentence for each kind of issue."""

    def kind(run_issue: RunIssue) -> tuple[str, str]:
        return run_issue.validity, run_issue.reasons

    lines = []
    for (validity, reasons), group in groupby(sorted(found, key=kind), key=kind):
        first, *others = group
        runs = formats.plural(first.runs + sum(each.runs for each in others), "run")
        more = f" and {formats.plural(len(others), 'more cell')}" if others else ""
        lines.append(f"{name}: {runs} {validity} ({reasons}): {first.cell}{more}.")
    return lines
