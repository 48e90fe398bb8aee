"""What must be known before two studies are compared, in words."""

from itertools import groupby

from scaling.analysis.comparison.between_studies import Across
from scaling.analysis.curves.sections import RunIssue
from scaling.base import formats
from scaling.report.tables.phrases import ratios_note


def changed(found: Across) -> list[str]:
    """The notes that stand above the comparison of two studies."""
    lines = []
    if found.is_backwards:
        began = [study.started_at for _, study in (found.then, found.now)]
        lines.append(
            "The study named first began after the one named second "
            f"({began[0]}, {began[1]}): swap them."
        )
    if found.differences:
        lines.append(f"Not the same in both: {'; '.join(found.differences)}.")
    lines.append("The studies were not run side by side: ratios are unpaired.")
    if found.changes:
        figures = [(*c.values, c.ratio) for c in found.changes]
        lines.append(ratios_note([value for row in figures for value in row], "ratios unpaired"))
    alone = [
        f"{formats.plural(count, 'cell')} only in the {which}"
        for count, which in ((found.only_then, "earlier"), (found.only_now, "later"))
        if count
    ]
    if alone:
        lines.append(f"Left out: {', '.join(alone)}.")
    for without, which in ((found.invalid_then, "earlier"), (found.invalid_now, "later")):
        if without:
            count = formats.plural(len(without), "cell")
            lines.append(
                f"Left out, {count} without a valid run in the {which}: {'; '.join(without)}."
            )
    if cells := [change.name for change in found.changes if change.is_across_states]:
        state = "In another allocator state than before, which the ratio includes"
        lines.append(f"{state}: {'; '.join(cells)}.")
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
