"""What was measured, for a figure whose comment names its source."""

from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

from scaling.analysis.claims.judging import Word, judge
from scaling.analysis.lookup.figure import find, results_of, verdicts
from scaling.analysis.lookup.name import FAMILY, FAULT_FIELD, QUESTION, VERDICT, FigureName, parse
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal, read_journal
from scaling.base.errors import UsageError
from scaling.base.suggest import unknown
from scaling.journal.reading import NAMES
from scaling.report.quotes.counts import count_claims, count_pairs, count_verdicts
from scaling.report.quotes.form import Form, form
from scaling.report.quotes.keys import keys_in, source_of

# In the place of a study's folder: all studies beside it (`scaling.report.quotes.counts`).
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
        if FAULT_FIELD in name.beside:
            raise UsageError(f"{FAULT_FIELD} is a field of {FAULT_FIELD}.FIGURE alone")
        if folder.name == CLAIMS:
            return count_claims(name, lambda: self._words(folder.parent))
        count = count_verdicts if folder.name == VERDICTS else count_pairs
        return count(name, [results_of(self._journal(each)) for each in self._below(folder.parent)])

    def _judged(self, folder: PurePosixPath) -> list[Word]:
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
