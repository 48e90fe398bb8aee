"""A claim: who claims what, which cells test it, and the rule that decides."""

from collections.abc import Iterator
from typing import Any

import msgspec

from scaling.analysis.lookup.cells import changed

type Fields = dict[str, Any]


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who makes a claim. `where` it was made, if there is no `url`."""

    title: str
    author: str = ""
    year: int | None = None
    url: str = ""
    where: str = ""


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One claim: what `source` claims, in our words, and `theirs`, its figure in its own words.

    `measure`, `cell` and `over` are those of `scaling.analysis.lookup.figure.figure`. Exactly one
    rule is given: the figure lies `between` two bounds, is `at_least` or `at_most` one; its ratio
    `over` another cell is `more` or `less` than 1, or the `same`; or it is `falling`: each of these
    cells, given by what it changes in `cell`, has more of the measure than the next one. More
    and less are by more than the study's margin (`scaling.analysis.claims.rules`).

    `why` is the rule in words. `cores` are those that it needs, `run` is the command that
    measures the cells, `note` is what differs in our measurement.

    `cannot` replaces all that: the reason why it cannot be tested.
    """

    name: str
    source: str
    claim: str
    theirs: str = ""
    measure: str = ""
    cell: Fields | None = None
    over: Fields | None = None
    between: tuple[float, float] | None = None
    at_least: float | None = None
    at_most: float | None = None
    more: bool | None = None
    less: bool | None = None
    same: bool | None = None
    falling: tuple[Fields, ...] | None = None
    why: str = ""
    cores: int | None = None
    run: str = ""
    note: str = ""
    cannot: str = ""

    @property
    def cells(self) -> list[Fields]:
        """Every cell that the claim needs, in full."""
        if self.cell is None:
            return []
        if self.falling:
            return [changed(self.cell, each) for each in self.falling]
        return [self.cell, *([changed(self.cell, self.over)] if self.over else [])]

    @property
    def cores_needed(self) -> int:
        """How many physical cores it needs: by default one for each worker."""
        return self.cores or max((each.get("workers") or 1 for each in self.cells), default=1)


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
