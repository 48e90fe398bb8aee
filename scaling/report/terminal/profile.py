"""A differential profile in the terminal: which functions cost more at N than at N = 1."""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from scaling.base import formats
from scaling.journal.profile import FunctionGain, Profile, ProfilePart
from scaling.report.tables.functions import facts, figures, named, unit_of


class ProfileView:
    """Renders a profile; give it to a rich console."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """A table for each part, and what could not be seen."""
        del console, options
        profile = self._profile
        yield Text(f"profile of {profile.text}", "bold")
        yield from (Text(line) for line in facts(profile))
        for part in profile.parts:
            yield Text()
            yield from _part(part, profile)
        if profile.notes:
            yield Text()
            yield from (Text(f"note: {note}") for note in profile.notes)


def _part(part: ProfilePart, profile: Profile) -> Iterator[Text | Table]:
    noun = profile.operation.removesuffix("s")
    factor, unit = unit_of(part)
    yield Text(f"{part.title}, {unit} per {noun}", "bold")
    if not part.functions:
        yield Text(f"no function of {part.others:,} gained time beyond chance")
        if not part.total:
            return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for heading in ("N = 1", f"N = {profile.cell.workers}", "gained", "interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("function", overflow="fold")
    for each in part.functions:
        table.add_row(*figures(each, factor), _name(each))
    if part.rest and part.total:
        if part.functions:
            others = formats.plural(part.others, "other")
            table.add_row(*figures(part.rest, factor), Text(others, "dim"))
        table.add_row(*figures(part.total, factor), Text("together", "bold"))
    yield table


def _name(each: FunctionGain) -> Text:
    name = Text(named(each))
    return name.append(f"\n{each.meaning}", "dim") if each.meaning else name
