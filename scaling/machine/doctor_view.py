"""A check-up on a terminal: the grave first, each with what to do about it."""

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from scaling.machine.advice import SEVERITIES, Advice, gravest

STYLES = {"fine": "green", "mind": "yellow", "stop": "bold red"}
SUMMARIES = {
    "fine": "Nothing here will disturb the figures.",
    "mind": "A study can be run; mind the above when you read its figures.",
    "stop": "Figures measured like this would mislead.",
}


def report(found: Sequence[Advice]) -> Group:
    """The findings with their remedies, the gravest first, and what they come to."""
    ordered = sorted(found, key=lambda each: -SEVERITIES.index(each.severity))
    table = Table.grid(padding=(0, 1, 0, 0))
    for each in ordered:
        table.add_row(Text(each.severity, STYLES[each.severity]), each.finding)
        if each.remedy:
            table.add_row("", Text(each.remedy, "dim"))
    return Group(table, Text(f"\n{SUMMARIES[gravest(found)]}", "bold"))
