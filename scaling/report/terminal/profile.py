"""A differential profile in the terminal: which functions cost more at N than at N = 1."""

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from scaling.base import formats
from scaling.journal.profile import FunctionGain, Profile, ProfilePart

US_FROM_NS = 10_000.0  # from so many ns in all, figures are in µs


class ProfileView:
    """Renders a profile; give it to a rich console."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """A table for each part, and what could not be seen."""
        del console, options
        profile = self._profile
        yield Text(f"profile of {profile.text}", "bold")
        yield from (Text(line) for line in _facts(profile))
        for part in profile.parts:
            yield Text()
            yield from _part(part, profile)
        if profile.notes:
            yield Text()
            yield from (Text(f"note: {note}") for note in profile.notes)


def _facts(profile: Profile) -> Iterator[str]:
    pairs = len({run.pair for run in profile.runs})
    yield (
        f"{formats.plural(pairs, 'pair')} of new runs, N = 1 against "
        f"N = {profile.cell.workers}; means, 95 % intervals of the gain (Student's t)"
    )
    samples = sum(run.cpu_samples for run in profile.runs)
    stacks = sum(run.stack_samples for run in profile.runs)
    sources = {"perf": samples, "Python stacks": stacks}
    seen = [f"{count:,} samples of {name}" for name, count in sources.items() if count]
    facts = [" and ".join(seen)]
    if profile.speed:
        facts.append(f"throughput {formats.number(profile.speed)} times the study's")
    yield "; ".join(facts)


def _part(part: ProfilePart, profile: Profile) -> Iterator[Text | Table]:
    noun = profile.operation.removesuffix("s")
    sums = [each for each in (part.rest, part.total) if each]
    largest = max((abs(each.at_n_ns) for each in [*part.functions, *sums]), default=0.0)
    factor, unit = (1e-3, "µs") if largest >= US_FROM_NS else (1.0, "ns")
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
        table.add_row(*_figures(each, factor), _name(each))
    if part.rest and part.total:
        if part.functions:
            others = formats.plural(part.others, "other")
            table.add_row(*_figures(part.rest, factor), Text(others, "dim"))
        table.add_row(*_figures(part.total, factor), Text("together", "bold"))
    yield table


def _figures(each: FunctionGain, factor: float) -> Sequence[str]:
    low, high = (formats.number(factor * value) for value in (each.low, each.high))
    figures = (each.at_1_ns, each.at_n_ns, each.gained_ns)
    return [*(formats.number(factor * value) for value in figures), formats.span(low, high)]


def _name(each: FunctionGain) -> Text:
    kind = " (kernel)" if each.kind == "kernel" else ""
    name = Text(f"{each.function}{kind}")
    return name.append(f"\n{each.meaning}", "dim") if each.meaning else name
