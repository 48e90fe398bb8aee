"""What the gate found, for a terminal and for the summary of a CI job."""

from collections import Counter
from collections.abc import Iterable, Sequence

from scaling.analysis.controls import Soundness
from scaling.analysis.gate.checked import BoundCheck
from scaling.analysis.statistics.estimate import bounds_kind
from scaling.base import formats
from scaling.report.tables.grid import Cell, Grid, VerdictCell
from scaling.report.tables.markdown import unbroken

N_IS = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"  # of a cell's name, not to be broken over two lines


def sentence(found: Sequence[BoundCheck], *, passes: bool, strict: bool) -> str:
    """The outcome in one line: `gate: FAILS: 1 of 3 checks fails.`."""
    if not found:
        return "gate: passes: no bound was stated; --max-regression 5% states one."
    counts = Counter(check.word for check in found)
    among = f"of {formats.plural(len(found), 'check')}"
    if fails := counts["fails"]:
        result = f"{fails} {among} {'fails' if fails == 1 else 'fail'}"
    elif doubtful := counts["inconclusive"]:
        result = f"{doubtful} {among} {'is' if doubtful == 1 else 'are'} inconclusive"
        result += "; that fails with --strict" if strict else "; none is proven to fail"
    else:
        holds = counts["holds"]
        result = f"{holds} {among} {'holds' if holds == 1 else 'hold'}"
    return f"gate: {'passes' if passes else 'FAILS'}: {result}."


def void_sentence(void: str, studies: Iterable[Soundness]) -> str:
    """The outcome where a study is `void`: where its controls fail, which have the reasons."""
    reasons = "; ".join(why for each in studies if each.status == "void" for why in each.reasons)
    return f"gate: FAILS: nothing could be checked: {void} ({reasons}). --allow-void lets it pass."


def spread_note(found: Sequence[BoundCheck]) -> str:
    """What stands with the figures, intervals or mere ranges; empty for single runs."""
    kind = bounds_kind(each.value for each in found)
    return f"With each figure its {kind}." if kind else ""


def family(found: Sequence[BoundCheck]) -> str:
    """That several checks are one family; empty for one."""
    if len(found) < 2:
        return ""
    return (
        f"{len(found)} checks are one family: by Holm's correction the chance that any of them "
        "fails without cause is below 5 %."
    )


def bounds_grid(found: Sequence[BoundCheck]) -> Grid:
    """One row a check: the cell and what is checked, the bound, the figure, the outcome."""
    rows: list[list[Cell]] = [
        [
            f"{each.cell.replace(' = ', N_IS)}\n{each.what}",
            formats.number(each.bound),
            each.value,
            VerdictCell(each.word, "\n".join(filter(None, (each.word, each.why)))),
        ]
        for each in found
    ]
    return Grid("", ["cell", "at least", "measured", "outcome"], rows)


def summary_text(outcome: str, tables: Iterable[str], notes: Sequence[str]) -> str:
    """What a job summary shows: the outcome, the tables, the notes."""
    lines = "\n".join(f"{unbroken(note)}  " for note in notes)
    return "\n\n".join(
        filter(None, ("## Scaling gate", f"**{unbroken(outcome)}**", *tables, lines))
    )
