"""Figures in texts, checked against the results: what each comment names, and what is wrong."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import get_args

from rich.console import Console

from scaling.analysis.claims.judging import Word as ClaimWord
from scaling.analysis.claims.judging import judge
from scaling.analysis.lookup.cells import (
    FAMILY,
    QUESTION,
    VERDICT,
    FigureName,
    differing,
    parse,
)
from scaling.analysis.lookup.figure import find, is_of, require_verdicts, results_of, verdicts
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.hypotheses import ERROR_RATE
from scaling.analysis.statistics.noise import COLUMNS, AAPair
from scaling.analysis.statistics.verdict import Word
from scaling.analysis.table.column import Noise
from scaling.analysis.table.load import Journal, read_journal
from scaling.base import formats
from scaling.base.console import say
from scaling.base.errors import UsageError, unknown
from scaling.base.files import text_in
from scaling.journal.protected_write import write_file
from scaling.journal.reading import NAMES
from scaling.journal.record import Cell
from scaling.report.figures_in_text import (
    OPEN,
    Form,
    Quote,
    bare_in,
    form,
    keys_in,
    quotes_in,
    source_of,
)
from scaling.report.tables.primitives import is_counted
from scaling.study.controls import is_control

# ------------------------------------------------------------------------------------------- counts
# Counts that a text quotes of several studies: of ratios, of A/A pairs and of claims.
#
# 24<!-- verdicts: throughput_per_s question='over processes' workers=2 verdict=slower -->
#
# They stand in the place of a study's folder, for all studies beside it: `verdicts`, or
# `my-machine/verdicts`. `verdicts: MEASURE field=value …` counts ratios, by `question`, `verdict`
# and `family` as in `comparison.csv`, too. `aa-pairs: pairs.throughput` counts A/A pairs,
# `unequal.throughput` those that differ at 5 %, and `different.throughput` those that the rule of
# verdicts calls different. `claims: hold` counts claims.

# Counts of A/A pairs, before a measure: `pairs.throughput`. Those that differ by chance at 5 % are
# not called different, which takes a margin and a correction.
OF_PAIRS: dict[str, Callable[[AAPair, Noise], bool]] = {
    "pairs": lambda pair, measure: not math.isnan(pair.p_equal[measure]),
    "unequal": lambda pair, measure: pair.p_equal[measure] < ERROR_RATE,
    "different": lambda pair, measure: pair.ratios[measure].verdict.side != 0,
}
# Counts of claims, judged by these studies: how many have that word, None for any.
OF_CLAIMS: dict[str, ClaimWord | None] = {
    "all": None,
    "hold": "holds",
    "do-not-hold": "does not hold",
    "inconclusive": "inconclusive",
    "cannot-tell": "inconclusive",  # as earlier pages have it
    "cannot-be-tested": "cannot be tested here",
}


def count_verdicts(name: FigureName, studies: Sequence[StudyResults]) -> int:
    """How many ratios have the fields of a name, among those of some studies.

    Controls and primitives are counted where the name has their workload.

    Raises:
        UsageError: there is no such verdict, or no ratio that has all other fields.
    """
    word = name.beside.get(VERDICT)
    if word is not None and word not in get_args(Word.__value__):
        raise unknown("verdict", word, get_args(Word.__value__))
    require_verdicts(name.measure, studies)

    def fits(ratio: Ratio) -> bool:
        return (
            is_of(ratio, name.measure)
            and ("workload" in name.cell or is_program(ratio.of))
            and name.beside.get(FAMILY) in (None, ratio.verdict.family)
            and not differing(ratio.of, name.cell)
            and not differing(ratio.over, name.over or {})
        )

    question = name.beside.get(QUESTION)
    known = [ratio for each in studies for ratio in each.ratios.where(question, keep=fits)]
    if not known:
        raise UsageError("no ratio has these fields")
    return sum(word in (None, each.verdict.word) for each in known)


def is_program(cell: Cell) -> bool:
    """Whether verdicts on a cell are counted: not those on controls and primitives."""
    return is_counted(cell.workload) and not is_control(cell.workload, cell.parameters)


def count_pairs(name: FigureName, studies: Sequence[StudyResults]) -> int:
    """How many A/A pairs some studies have, or how many of them differ: `unequal.throughput`.

    Raises:
        UsageError: there is no such count, or no such measure.
    """
    name.take_no_cell("all A/A pairs")
    what, _, measure = name.measure.partition(".")
    if what not in OF_PAIRS:
        raise unknown("count of A/A pairs", what, OF_PAIRS)
    noise = next((each for each in COLUMNS if each == measure), None)
    if noise is None:
        raise unknown("measure", measure, COLUMNS, where=f"{what}.")
    return sum(OF_PAIRS[what](pair, noise) for each in studies for pair in each.floor.pairs)


def count_claims(name: FigureName, words: Callable[[], Sequence[ClaimWord]]) -> int:
    """How many claims have a word.

    Raises:
        UsageError: there is no such count.
    """
    if name.measure not in OF_CLAIMS:
        raise unknown("count", name.measure, OF_CLAIMS, where="claims")
    name.take_no_cell("all claims")
    return sum(OF_CLAIMS[name.measure] in (None, each) for each in words())


# ------------------------------------------------------------------------------------------- lookup

# In the place of a study's folder: all studies beside it.
CLAIMS, VERDICTS, AA_PAIRS = "claims", "verdicts", "aa-pairs"


class Lookup:
    """Studies below one folder, by their paths in it; each is read when first quoted, and kept.

    The folder may hold `figures.toml`, with the source of each figure that a text quotes by key.
    """

    def __init__(self, folder: Path, read: Callable[[Path], Journal] = read_journal) -> None:
        """Raises `UsageError` where no study is below `folder`, or its keys cannot be read."""
        self._folder = folder
        self._read = read
        if not self.studies:
            raise UsageError(f"{folder}: no folder below it has a study")
        self.keys = keys_in(folder)
        self._journal = cache(self._opened)
        self._words = cache(self._judged)

    @cached_property
    def studies(self) -> list[str]:
        """The folders that hold a study: `scale`, or `my-machine/scale`."""
        found = {file.parent for name in NAMES for file in self._folder.glob(f"*/**/{name}")}
        return sorted(each.relative_to(self._folder).as_posix() for each in found)

    def figure(self, comment: str) -> str:
        """The figure that a comment stands for, as it must be written.

        Raises:
            UsageError: the comment cannot be read, or the figure was not measured.
        """
        study, name = parse(source_of(comment, self.keys))
        if not study:
            raise UsageError(f"expected RESULTS: MEASURE field=value …, got {comment!r}")
        _form(name)
        folder = PurePosixPath(study)
        if folder.name in (CLAIMS, VERDICTS, AA_PAIRS):
            return f"{self._count(name, folder):,}"
        return figure_text(results_of(self._journal(study)), name)

    def _count(self, name: FigureName, folder: PurePosixPath) -> int:
        if folder.name == CLAIMS:
            return count_claims(name, lambda: self._words(folder.parent))
        count = count_verdicts if folder.name == VERDICTS else count_pairs
        return count(name, [results_of(self._journal(each)) for each in self._below(folder.parent)])

    def _judged(self, folder: PurePosixPath) -> list[ClaimWord]:
        below = self._below(folder)
        journals = [self._journal(name) for name in below]
        if len({each.study.machine.id for each in journals}) > 1:
            where = PurePosixPath(below[0]).parent / CLAIMS
            raise UsageError(f"{folder / CLAIMS}: several machines; name one, such as {where}")
        return [each.word for each in judge(journals)]

    def _below(self, folder: PurePosixPath) -> list[str]:
        below = [name for name in self.studies if PurePosixPath(name).is_relative_to(folder)]
        if not below:
            raise UsageError(f"{self._folder / folder}: no study below it")
        return below

    def _opened(self, name: str) -> Journal:
        if name not in self.studies:
            raise unknown("study", name, self.studies, where=str(self._folder))
        return self._read(self._folder / name)


def figure_text(results: StudyResults, name: FigureName) -> str:
    """A figure of one study, or the verdict on it, as it must be written.

    Raises:
        UsageError: it was not measured, or cannot be written so.
    """
    written = _form(name)
    for field in (VERDICT, FAMILY, *(() if written.is_verdict else (QUESTION,))):
        if field in name.beside:
            raise UsageError(f"{field} is a field of {VERDICTS} alone")
    if written.is_verdict:
        return _verdict(results, name, written)
    found = find(results, name)
    if not found.written:
        return written.text(found.estimate)
    if written != Form():
        raise UsageError(f"{name.measure} is a count: it has no as= and no in=")
    return found.written


def _form(name: FigureName) -> Form:
    return form(name.beside.get("as", ""), name.beside.get("in", ""))


def _verdict(results: StudyResults, name: FigureName, written: Form) -> str:
    """The one word of the study's comparison on a ratio, in words with what it rests on."""
    found = verdicts(results, name)
    texts = sorted({each.text if written.is_in_words else each.word for each in found})
    if len(texts) != 1:
        known = f"several verdicts on it ({', '.join(texts)})" if texts else "no verdict on it"
        hint = f"name its {QUESTION}, or " if texts else ""
        raise UsageError(f"the study's comparison has {known}: {hint}quote the ratio alone")
    return texts[0]


# -------------------------------------------------------------------------------------------- check


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
