"""What the results say, for a figure that says where it is from."""

from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

from scaling.analysis.claims.judging import Word, judge
from scaling.analysis.lookup.extent import Extent, extent
from scaling.analysis.lookup.figure import figure
from scaling.analysis.table.load import Journal, read_journal
from scaling.base.errors import UsageError
from scaling.base.suggest import unknown
from scaling.journal.reading import NAMES
from scaling.report.quotes.source import Source, parse

# What can be told of a whole study.
OF_A_STUDY: dict[str, Callable[[Extent], str]] = {
    "date": lambda found: found.date or "",
    "blocks": lambda found: f"{found.blocks:,}",
    "runs": lambda found: f"{found.runs:,}",
    "minutes": lambda found: f"{max(1, round(found.minutes)):,}",
}

# In the place of a study's folder: all studies beside it, `claims` or `my-machine/claims`.
CLAIMS = "claims"
# What can be told of all claims, held against these studies: how many have that word, None for any.
OF_CLAIMS: dict[str, Word | None] = {
    "all": None,
    "hold": "holds",
    "do-not-hold": "does not hold",
    "cannot-tell": "can't tell",
    "cannot-be-tested": "cannot be tested here",
}


class Lookup:
    """Studies below one folder, by their paths in it; each is read when first quoted, and kept."""

    def __init__(self, folder: Path, read: Callable[[Path], Journal] = read_journal) -> None:
        """Raises `UsageError` if there is no study in any folder below `folder`."""
        self._folder = folder
        self._read = read
        if not self.studies:
            raise UsageError(f"{folder}: no study stands in a folder below it")
        self._journal = cache(self._opened)
        self._words = cache(self._judged)

    @cached_property
    def studies(self) -> list[str]:
        """The folders that hold a study: `scale`, or `my-machine/scale`."""
        found = {file.parent for name in NAMES for file in self._folder.glob(f"*/**/{name}")}
        return sorted(each.relative_to(self._folder).as_posix() for each in found)

    def figure(self, comment: str) -> str:
        """The figure that a comment asks for, as it has to be written.

        Raises:
            UsageError: the comment makes no sense, or the results do not tell.
        """
        source = parse(comment)
        if PurePosixPath(source.results).name == CLAIMS:
            return self._of_claims(source)
        journal = self._journal(source.results)
        if source.measure in OF_A_STUDY:
            return _of_study(source, journal)
        return source.form.text(figure(journal, source.measure, source.cell, source.over).estimate)

    def _of_claims(self, source: Source) -> str:
        if source.measure not in OF_CLAIMS:
            raise unknown("count", source.measure, OF_CLAIMS, where=CLAIMS)
        _take_no_cell(source, "all claims")
        word = OF_CLAIMS[source.measure]
        machine = PurePosixPath(source.results).parent
        return f"{sum(word in (None, each) for each in self._words(machine)):,}"

    def _judged(self, folder: PurePosixPath) -> list[Word]:
        below = [name for name in self.studies if PurePosixPath(name).is_relative_to(folder)]
        if not below:
            raise UsageError(f"{self._folder / folder}: no study stands below it")
        journals = [self._journal(name) for name in below]
        if len({each.study.machine.id for each in journals}) > 1:
            where = PurePosixPath(below[0]).parent / CLAIMS
            raise UsageError(f"{folder / CLAIMS}: of several machines; name one, such as {where}")
        return [each.word for each in judge(journals)]

    def _opened(self, name: str) -> Journal:
        if name not in self.studies:
            raise unknown("study", name, self.studies, where=str(self._folder))
        return self._read(self._folder / name)


def _of_study(source: Source, journal: Journal) -> str:
    _take_no_cell(source, "a whole study")
    told = OF_A_STUDY[source.measure](extent(journal))
    if not told:
        raise UsageError(f"the journal does not tell its {source.measure}")
    return told


def _take_no_cell(source: Source, whole: str) -> None:
    if source.cell or source.over:
        raise UsageError(f"{source.measure} is of {whole}, and takes no cell")
