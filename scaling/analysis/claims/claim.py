"""A claim: who claims what, which cells test it, and the rule that decides."""

from collections.abc import Iterator
from functools import cached_property

import msgspec

from scaling.analysis.lookup.cells import Fields
from scaling.analysis.lookup.figure import sides
from scaling.analysis.lookup.name import FigureName, named
from scaling.analysis.statistics.estimate import Estimate
from scaling.base import formats


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who makes a claim. `where` it was made, if there is no `url`."""

    title: str
    author: str = ""
    year: int | None = None
    url: str = ""
    where: str = ""


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """One claim: what `source` claims, in our words, and `theirs`, its figure in its own words.

    `figure` is the name of a figure of cells, as texts quote it (`scaling.analysis.lookup.name`),
    or a list of them: then the rule is to hold of each. Exactly one rule is given: the figure lies
    `between` two bounds, is `at_least` or `at_most` one; or the ratio that it is, is `more` or
    `less` than 1, or the `same`. More and less are by more than the study's margin
    (`scaling.analysis.claims.rules`).

    `why` is the rule in words. `cores` are those that it needs, `run` is the command that
    measures the cells, `note` is what differs in our measurement.

    `cannot` replaces all that: the reason why it cannot be tested.
    """

    name: str
    source: str
    claim: str
    theirs: str = ""
    figure: str | tuple[str, ...] = ()
    between: tuple[float, float] | None = None
    at_least: float | None = None
    at_most: float | None = None
    more: bool | None = None
    less: bool | None = None
    same: bool | None = None
    why: str = ""
    cores: int | None = None
    run: str = ""
    note: str = ""
    cannot: str = ""

    @cached_property
    def figures(self) -> list[FigureName]:
        """What `figure` names.

        Raises:
            UsageError: a word of it cannot be read, or it names a study.
        """
        every = (self.figure,) if isinstance(self.figure, str) else self.figure
        return [named(text) for text in every]

    @property
    def cells(self) -> list[Fields]:
        """Every cell that the claim needs, in full.

        Raises:
            UsageError: a field that no cell has, a value of another kind, or one is missing.
        """
        return [cell for name in self.figures for cell in sides(name)]

    @property
    def cores_needed(self) -> int:
        """How many physical cores it needs: by default one for each worker."""
        workers = (each.get("workers") for each in self.cells)
        return self.cores or max((n for n in workers if isinstance(n, int)), default=1)


class Claims(msgspec.Struct, frozen=True):
    """A list of claims, and their sources by name."""

    sources: dict[str, Source]
    claims: tuple[Claim, ...]

    @property
    def by_source(self) -> Iterator[tuple[Source, list[Claim]]]:
        """The sources that have a claim, in the file's order, each with its claims."""
        for name, source in self.sources.items():
            of_it = [claim for claim in self.claims if claim.source == name]
            if of_it:
                yield source, of_it


# ------------------------------------------------------------------------------------------ amounts
# Figures in the unit in which they are easily read: 4.2e-07 s as 420 ns.

# From the largest unit down: the first one of which there is at least one is taken.
READ_IN = {"s": ("s", "ms", "µs", "ns"), "B": ("MiB", "KiB", "B")}


def with_unit(value: Estimate) -> str:
    """An estimate with its interval or range and its unit: `1.21 (1.19–1.23) ×`; – for none."""
    if not value.n:
        return formats.BLANK
    unit, times = _readable(value.point, value.unit)
    return f"{value.scaled(times, unit)!s} {unit}".strip()


def amount(value: float, unit: str) -> str:
    """A single number with its unit; of a ratio the number alone."""
    readable, times = _readable(value, unit)
    shown = "" if unit == "×" else readable
    return f"{formats.number(value * times)} {shown}".strip()


def _readable(value: float, unit: str) -> tuple[str, float]:
    """A unit for the value, and what to multiply it by."""
    known = {name: formats.unit_factor(unit, name) or 1.0 for name in READ_IN.get(unit, (unit,))}
    *_, smallest = known
    name = next((name for name, times in known.items() if abs(value) * times >= 1), smallest)
    return name, known[name]
