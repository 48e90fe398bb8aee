"""A text checked against the results: which figures are not, or cannot be, what was measured."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from scaling.base import formats
from scaling.base.console import say
from scaling.base.errors import UsageError
from scaling.base.files import text_in
from scaling.journal.protected_write import write_file
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


# ------------------------------------------------------------------------------------------ rewrite
# `scaling quotes`: check every figure in a text against the results, and correct it if asked.


def quotes(texts: Sequence[Path], results: Path, console: Console, *, write: bool) -> bool:
    """Check the figures of `texts` against the studies in `results`; print what is wrong.

    With `write`, wrong figures are corrected where the right one is known. Returns whether every
    figure is right in the end.

    Raises:
        UsageError: a text or the results cannot be read.
        ScalingError: a text cannot be written.
    """
    lookup = Lookup(results)
    every_one = True
    for path in texts:
        text = text_in(path)
        findings = check(text, lookup)
        if write:
            _write(path, text, corrected(text, findings))
        wrong = [each for each in findings if not (write and each.right)]
        for each in wrong:
            say(console, f"{path}:{each.quote.line}: {each.why}")
        say(console, _summary(path, text, findings, wrong))
        every_one = every_one and not wrong
    return every_one


def _summary(path: Path, text: str, findings: list[WrongFigure], wrong: list[WrongFigure]) -> str:
    """`README.md: 41 figures with a source, all as measured; 2 corrected`."""
    figures = formats.plural(len(quotes_in(text)), "figure")
    state = f"{len(wrong)} wrong" if wrong else "all as measured"
    count = len(findings) - len(wrong)
    note = f"; {count} corrected" if count else ""
    return f"{path}: {figures} with a source, {state}{note}"


def _write(path: Path, old: str, new: str) -> None:
    """Write a text, its line ends as they are; leave one alone that has not changed."""
    if new != old:
        again = "scaling quotes --write"
        write_file(path, lambda file: file.write_bytes(new.encode()), again)
