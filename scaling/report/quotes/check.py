"""A text checked against the results: which figures are not, or cannot be, what was measured."""

from collections.abc import Iterable
from dataclasses import dataclass

from scaling.base.errors import UsageError
from scaling.report.quotes.lookup import Lookup
from scaling.report.quotes.text import OPEN, Quote, bare_in, quotes_in


@dataclass(frozen=True, slots=True)
class WrongFigure:
    """A figure that is wrong, and why; `right` is what should stand there, if that is known."""

    quote: Quote
    why: str
    right: str = ""


def check(text: str, results: Lookup) -> list[WrongFigure]:
    """What is wrong with the figures of a text, in their order."""
    found = [_compared(quote, results) for quote in quotes_in(text)]
    found += [_without_source(quote) for quote in bare_in(text)]
    return sorted(filter(None, found), key=lambda each: each.quote.begin)


def corrected(text: str, findings: Iterable[WrongFigure]) -> str:
    """The text with the right figures, where they are known."""
    for each in sorted(findings, key=lambda each: each.quote.begin, reverse=True):
        if each.right:
            text = text[: each.quote.begin] + each.right + text[each.quote.end :]
    return text


def _compared(quote: Quote, results: Lookup) -> WrongFigure | None:
    try:
        right = results.figure(quote.comment)
    except UsageError as error:
        return WrongFigure(quote, f"{error} (from: {quote.comment})")
    if quote.written == right:
        return None
    written = "says nothing" if quote.written in ("", OPEN) else f"says {quote.written}"
    return WrongFigure(quote, f"{written} where {right} was measured ({quote.comment})", right)


def _without_source(quote: Quote) -> WrongFigure:
    return WrongFigure(
        quote, f"{quote.written} has no source: put <!-- KEY --> after it, and KEY in figures.toml"
    )
