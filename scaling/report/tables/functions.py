"""A differential profile as tables: the functions that gained time, with what their names mean."""

from collections.abc import Iterator

from scaling.base import formats
from scaling.journal.profile import FunctionGain, Profile, ProfilePart
from scaling.report.tables.grid import Cell, Grid

US_FROM_NS = 10_000.0  # from so many ns in all, figures are in µs


def unit_of(part: ProfilePart) -> tuple[float, str]:
    """What figures in ns are multiplied by, and the unit that they have then."""
    sums = [each for each in (part.rest, part.total) if each]
    largest = max((abs(each.at_n_ns) for each in [*part.functions, *sums]), default=0.0)
    return (1e-3, "µs") if largest >= US_FROM_NS else (1.0, "ns")


def facts(profile: Profile) -> Iterator[str]:
    """What the profile rests on, and what profiling costs."""
    pairs = len({run.pair for run in profile.runs})
    yield (
        f"{formats.plural(pairs, 'pair')} of new runs, N = 1 against "
        f"N = {profile.cell.workers}; means, 95 % intervals of the gain (Student's t)"
    )
    samples = sum(run.cpu_samples for run in profile.runs)
    stacks = sum(run.stack_samples for run in profile.runs)
    sources = {"perf": samples, "Python stacks": stacks}
    seen = [f"{count:,} samples of {name}" for name, count in sources.items() if count]
    found = [" and ".join(seen)]
    if profile.speed:
        found.append(f"throughput {formats.number(profile.speed)} times the study's")
    yield "; ".join(found)


def figures(each: FunctionGain, factor: float) -> list[str]:
    """At N = 1, at N, the gain and its interval."""
    low, high = (formats.number(factor * value) for value in (each.low, each.high))
    values = (each.at_1_ns, each.at_n_ns, each.gained_ns)
    return [*(formats.number(factor * value) for value in values), formats.span(low, high)]


def named(each: FunctionGain) -> str:
    """`lookup (kernel)`."""
    return f"{each.function}{' (kernel)' if each.kind == 'kernel' else ''}"


def function_grids(profile: Profile) -> list[Grid]:
    """A table for each part of a profile."""
    return [_grid(part, profile) for part in profile.parts]


def _grid(part: ProfilePart, profile: Profile) -> Grid:
    factor, unit = unit_of(part)
    rows: list[list[Cell]] = [
        [named(each), *figures(each, factor), each.meaning or ""] for each in part.functions
    ]
    if part.rest and part.total:
        others = formats.plural(part.others, "other")
        rows.append([others, *figures(part.rest, factor), ""])
        rows.append(["together", *figures(part.total, factor), ""])
    headings = ["function", "N = 1", f"N = {profile.cell.workers}", "gained", "95 % interval"]
    title = f"{part.title}, {unit} per {profile.operation.removesuffix('s')}"
    none = f"No function of {part.others:,} gained time beyond chance."
    return Grid(title, [*headings, "what it is"], rows, 1, "" if part.functions else none)
