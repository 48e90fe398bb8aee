"""A file of claims: TOML, checked field by field; every error is one line."""

import re
from importlib import resources
from pathlib import Path

from scaling.analysis.claims import AGAINST_ONE, Claim, Claims, Source
from scaling.analysis.lookup.cells import OVER
from scaling.analysis.lookup.figure import sides
from scaling.base.errors import UsageError, unknown
from scaling.base.files import text_in
from scaling.base.typed import converted, document, title

FILE_NAME = "claims.toml"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
RULES = ("between", "at_least", "at_most", *AGAINST_ONE)


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
