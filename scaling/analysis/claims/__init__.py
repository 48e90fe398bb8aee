"""Claims that others make about asyncio and threads without the GIL, and the file that lists them.

A claim is who claims what, which cells test it, and the rule that decides. The file is TOML,
checked field by field; every error is one line.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from scaling.analysis.lookup.cells import OVER, Fields, FigureName, named
from scaling.analysis.lookup.figure import sides
from scaling.base.errors import UsageError, unknown
from scaling.base.files import text_in
from scaling.base.typed import converted, document, title

type Needed = Literal["above", "below", "same"]

AGAINST_ONE: dict[str, Needed] = {"more": "above", "less": "below", "same": "same"}
RULES = ("between", "at_least", "at_most", *AGAINST_ONE)


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who makes a claim. `where` it was made, if there is no `url`."""

    title: str
    author: str = ""
    year: int | None = None
    url: str = ""
    where: str = ""


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """One claim: what `source` claims, in our words, and `theirs`, its figure in its own words.

    `figure` is the name of a figure of cells, as texts quote it (`scaling.analysis.lookup.cells`),
    or a list of them: then the rule is to hold of each. Exactly one rule is given: the figure lies
    `between` two bounds, is `at_least` or `at_most` one; or the ratio that it is, is `more` or
    `less` than 1, or the `same`. More and less are by more than the study's margin
    (`scaling.analysis.claims.judging`).

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


# --------------------------------------------------------------------------------------------- file

FILE_NAME = "claims.toml"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def read_claims(file: Path | None = None) -> Claims:
    """The claims in a file, by default those that come with the project.

    Raises:
        UsageError: the file cannot be read, or a value is wrong: the message has claim and field.
    """
    if file is None:
        return claims_in(
            (resources.files("scaling.analysis.claims") / FILE_NAME).read_text("utf-8"), FILE_NAME
        )
    return claims_in(text_in(file), file.name)


def claims_in(text: str, where: str) -> Claims:
    """The claims in a TOML text; `where` names the file in messages.

    Raises:
        UsageError: as `read_claims`.
    """
    read = document(text, where)
    for key in read:
        if key not in Claims.__struct_fields__:
            raise unknown("key", key, Claims.__struct_fields__, where=where)
    sources, tables = read.get("sources", {}), read.get("claims", [])
    if not isinstance(sources, dict) or not isinstance(tables, list) or not tables:
        raise UsageError(f"{where}: expected [sources.NAME] tables and [[claims]] tables")
    known = {name: _source(table, f"{where}: source {name}") for name, table in sources.items()}
    claims: dict[str, Claim] = {}
    for number, table in enumerate(tables, start=1):
        place = f"{where}: {title('claim', number, table)}"
        claim = converted(table, Claim, place)
        if claim.name in claims:
            raise UsageError(f"{place}: name: another claim has it; expected one of its own")
        if claim.source not in known:
            raise unknown("source", claim.source, known, where=f"{place}: source")
        _check(claim, place)
        claims[claim.name] = claim
    return Claims(known, tuple(claims.values()))


def _source(table: object, place: str) -> Source:
    source = converted(table, Source, place)
    if not source.url and not source.where:
        raise UsageError(f"{place}: expected a url, or where it can be found")
    return source


def _check(claim: Claim, place: str) -> None:
    """Raises `UsageError` where fields do not go together."""
    if not NAME.fullmatch(claim.name):
        raise UsageError(f"{place}: name: expected small letters, digits and hyphens")
    given = [rule for rule in RULES if getattr(claim, rule) is not None]
    if claim.cannot:
        tested = ["figure", *given] if claim.figure else given
        if tested:
            raise UsageError(f"{place}: cannot: goes without {', '.join(tested)}")
        return
    for field in ("figure", "run"):
        if not getattr(claim, field):
            raise UsageError(f"{place}: {field} is missing: expected it, or `cannot`")
    if len(given) != 1:
        found = f", got {' and '.join(given)}" if given else ""
        raise UsageError(f"{place}: expected exactly one rule of {', '.join(RULES)}{found}")
    try:
        _check_figures(claim)
    except UsageError as error:
        raise UsageError(f"{place}: figure: {error}") from None
    _check_rule(claim, place)


def _check_figures(claim: Claim) -> None:
    for name in claim.figures:
        sides(name)
        for field in name.beside:
            raise UsageError(f"{field} is of a text's figures, and no field of a cell")


def _check_rule(claim: Claim, place: str) -> None:
    bounds = claim.between or [each for each in (claim.at_least, claim.at_most) if each is not None]
    if any(not bound > 0 for bound in bounds):
        raise UsageError(f"{place}: expected bounds above 0, got {' and '.join(map(str, bounds))}")
    if claim.between and not claim.between[0] < claim.between[1]:
        raise UsageError(f"{place}: between: expected the lower bound first, and another above it")
    for rule in AGAINST_ONE:
        if getattr(claim, rule) is False:
            raise UsageError(f"{place}: {rule}: expected true, or another rule")
        if getattr(claim, rule) and not all(name.over for name in claim.figures):
            raise UsageError(
                f"{place}: {rule}: expected what it is compared with, as in {OVER}workers=1"
            )
    if claim.cores is not None and claim.cores < 1:
        raise UsageError(f"{place}: cores: expected a number from 1 on, got {claim.cores}")
