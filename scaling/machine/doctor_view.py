"""The findings of `scaling doctor` on a terminal: the worst first, each with its remedy."""

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from scaling.machine.advice import SEVERITIES, Advice, worst

STYLES = {"ok": "green", "warning": "yellow", "stop": "bold red"}
SUMMARIES = {
    "ok": "Nothing here will disturb the figures.",
    "warning": "You can run a study. Keep the warnings in mind when you read its figures.",
    "stop": "Do not measure like this: the figures would mislead.",
}


def report(found: Sequence[Advice]) -> Group:
    """The findings with their remedies, the worst first, then a summary."""
    ordered = sorted(found, key=lambda each: -SEVERITIES.index(each.severity))
    table = Table.grid(padding=(0, 1, 0, 0))
    for each in ordered:
        table.add_row(Text(each.severity, STYLES[each.severity]), each.finding)
        if each.remedy:
            table.add_row("", Text(each.remedy, "dim"))
    return Group(table, Text(f"\n{SUMMARIES[worst(found)]}", "bold"))
