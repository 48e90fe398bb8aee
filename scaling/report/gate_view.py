"""What the gate found, for a terminal and for the summary of a CI job."""

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from scaling.analysis.controls import Soundness
from scaling.analysis.gate.checked import BoundCheck, Word
from scaling.analysis.statistics.estimate import bounds_kind
from scaling.base import formats
from scaling.report.tables.pipes import pipe_table, unbroken

STYLES: dict[Word, str] = {"holds": "green", "fails": "bold red", "inconclusive": "yellow"}
N_IS = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"  # of a cell's name, not to be broken over two lines
HEADINGS = ("cell", "at least", "measured", "outcome")


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


def table(found: Sequence[BoundCheck]) -> Table:
    """One row a check, what was measured above its interval, the outcome above its reason."""
    shown = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for place, heading in enumerate(HEADINGS):
        shown.add_column(heading, justify="right" if place in (1, 2) else "left", overflow="fold")
    for check in found:
        measured = Text(formats.number(check.value.point))
        if beside := check.value.bounds:
            measured.append(f"\n{beside}", "dim")
        shown.add_row(
            Text(check.cell.replace(" = ", N_IS) + "\n").append(check.what, "dim"),
            formats.number(check.bound),
            measured,
            Text(check.word, STYLES[check.word]).append(f"\n{check.why}", "dim"),
        )
    return shown


def markdown(found: Sequence[BoundCheck]) -> str:
    """The same for a job summary; empty without a check."""
    if not found:
        return ""
    rows = []
    for each in found:
        cells = [each.cell, each.what, formats.number(each.bound), str(each.value)]
        rows.append([unbroken(cell) for cell in [*cells, each.word, each.why]])
    return pipe_table(["cell", "", "at least", "measured", "outcome", "why"], rows, {2, 3})


def summary_text(outcome: str, tables: Sequence[str], notes: Sequence[str]) -> str:
    """What a job summary shows: the outcome, the tables that are not empty, the notes."""
    lines = "\n".join(f"{unbroken(note)}  " for note in notes)
    return "\n\n".join(
        filter(None, ("## Scaling gate", f"**{unbroken(outcome)}**", *tables, lines))
    )
