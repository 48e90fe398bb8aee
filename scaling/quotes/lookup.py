"""What the results say, for a figure that says where it is from."""

from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path

from scaling.analysis.extent import Extent, extent
from scaling.analysis.figure import figure
from scaling.claims.judging import Word, judge
from scaling.errors import UsageError
from scaling.frame.frame import Journal, read_journal
from scaling.journal.reading import NAMES
from scaling.names import unknown
from scaling.quotes.source import Source, parse

# What can be told of a whole study.
OF_A_STUDY: dict[str, Callable[[Extent], str]] = {
    "date": lambda found: found.date or "",
    "blocks": lambda found: f"{found.blocks:,}",
    "runs": lambda found: f"{found.runs:,}",
    "minutes": lambda found: f"{max(1, round(found.minutes)):,}",
}

CLAIMS = "claims"  # in the place of a folder of results
# What can be told of all claims, held against all studies: how many have that word, None for any.
OF_CLAIMS: dict[str, Word | None] = {
    "all": None,
    "hold": "holds",
    "do-not-hold": "does not hold",
    "cannot-tell": "can't tell",
    "cannot-be-tested": "cannot be tested here",
}


class Lookup:
    """Studies in the folders of one folder; each is read when it is first quoted, and kept."""

    def __init__(self, folder: Path, read: Callable[[Path], Journal] = read_journal) -> None:
        """Raises `UsageError` if there is no study in a folder of `folder`."""
        self._folder = folder
        self._read = read
        if not self.studies:
            raise UsageError(f"{folder}: no study stands in a folder of it")
        self._journal = cache(self._opened)

    @property
    def studies(self) -> list[str]:
        """Names of the folders that hold a study."""
        found = {file.parent.name for name in NAMES for file in self._folder.glob(f"*/{name}")}
        return sorted(found)

    def figure(self, comment: str) -> str:
        """The figure that a comment asks for, as it has to be written.

        Raises:
            UsageError: the comment makes no sense, or the results do not tell.
        """
        source = parse(comment)
        if source.results == CLAIMS:
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
        return f"{sum(word in (None, each) for each in self._words):,}"

    @cached_property
    def _words(self) -> list[Word]:
        return [each.word for each in judge([self._journal(name) for name in self.studies])]

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
