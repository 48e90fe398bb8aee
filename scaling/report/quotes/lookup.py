"""What was measured, for a figure whose comment names its source."""

import math
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

import pandas as pd

from scaling.analysis.claims.judging import Word, judge
from scaling.analysis.lookup.extent import Extent, extent
from scaling.analysis.lookup.figure import figure, noise_of
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.noise import COLUMNS as NOISY
from scaling.analysis.table.load import Journal, read_journal
from scaling.base.errors import UsageError
from scaling.base.formats import percent
from scaling.base.suggest import unknown
from scaling.journal.reading import NAMES
from scaling.report.quotes.capacities import OF_A_CAPACITY, capacity
from scaling.report.quotes.keys import keys_in, source_of
from scaling.report.quotes.single_runs import FAULT, is_of_single_run, single_run
from scaling.report.quotes.source import FAULT_FIELD, QuoteSource, parse
from scaling.report.quotes.verdicts import count, count_pairs, verdict
from scaling.report.tables.comparison_rows import comparison_rows

# Facts about a whole study.
OF_A_STUDY: dict[str, Callable[[Extent], str]] = {
    "date": lambda found: found.date or "",
    "blocks": lambda found: f"{found.blocks:,}",
    "runs": lambda found: f"{found.runs:,}",
    "minutes": lambda found: f"{max(1, round(found.minutes)):,}",
}

# Before a measure: by how much A/A pairs of a workload differ in it.
NOISE = "noise."

# In the place of a study's folder: all studies beside it, `claims` or `my-machine/claims`.
CLAIMS = "claims"
# In the same place: counts of the ratios of all studies there.
VERDICTS = "verdicts"
# In the same place: counts of the A/A pairs of all studies there.
AA_PAIRS = "aa-pairs"
# Counts of claims, judged by these studies: how many have that word, None for any.
OF_CLAIMS: dict[str, Word | None] = {
    "all": None,
    "hold": "holds",
    "do-not-hold": "does not hold",
    "inconclusive": "inconclusive",
    "cannot-tell": "inconclusive",  # as earlier pages have it
    "cannot-be-tested": "cannot be tested here",
}


def _ratios(journal: Journal) -> pd.DataFrame:
    return comparison_rows(StudyResults.of(journal))


class Lookup:
    """Studies below one folder, by their paths in it; each is read when first quoted, and kept.

    The folder may hold `figures.toml`, with the source of each figure that a text quotes by key.
    """

    def __init__(
        self,
        folder: Path,
        read: Callable[[Path], Journal] = read_journal,
        ratios: Callable[[Journal], pd.DataFrame] = _ratios,
    ) -> None:
        """Raises `UsageError` where no study is below `folder`, or its keys cannot be read.

        `ratios` gives the `comparison_rows` of a journal.
        """
        self._folder = folder
        self._read = read
        if not self.studies:
            raise UsageError(f"{folder}: no folder below it has a study")
        self.keys = keys_in(folder)
        self._journal = cache(self._opened)
        self._words = cache(self._judged)
        self._ratios = cache(lambda name: ratios(self._journal(name)))
        self._results = cache(lambda name: StudyResults.of(self._journal(name)))

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
        source = parse(source_of(comment, self.keys))
        folder = PurePosixPath(source.results)
        if source.fault and not source.measure.startswith(FAULT):
            raise UsageError(f"{FAULT_FIELD} is a field of {FAULT}FIGURE alone")
        if folder.name in (VERDICTS, AA_PAIRS):
            return f"{self._count(source, folder):,}"
        if source.only:
            raise UsageError(f"{next(iter(source.only))} is a field of {VERDICTS} alone")
        if is_of_single_run(source.measure):
            self._require(source.results)
            return single_run(source, self._folder / source.results)
        if folder.name == CLAIMS:
            return self._of_claims(source)
        journal = self._journal(source.results)
        if source.measure in OF_A_STUDY:
            return _of_study(source, journal)
        if source.measure.startswith(NOISE):
            return _noise(source, journal)
        if source.measure in OF_A_CAPACITY:
            return capacity(source, self._results(source.results))
        if source.form.is_verdict:
            return verdict(source, journal, self._ratios(source.results))
        return source.form.text(figure(journal, source.measure, source.cell, source.over).estimate)

    def _count(self, source: QuoteSource, folder: PurePosixPath) -> int:
        below = self._below(folder.parent)
        if folder.name == VERDICTS:
            return count(source, [self._ratios(name) for name in below])
        _take_no_cell(source, "all A/A pairs")
        return count_pairs(source.measure, [noise_of(self._journal(name)) for name in below])

    def _of_claims(self, source: QuoteSource) -> str:
        if source.measure not in OF_CLAIMS:
            raise unknown("count", source.measure, OF_CLAIMS, where=CLAIMS)
        _take_no_cell(source, "all claims")
        word = OF_CLAIMS[source.measure]
        machine = PurePosixPath(source.results).parent
        return f"{sum(word in (None, each) for each in self._words(machine)):,}"

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

    def _require(self, name: str) -> None:
        if name not in self.studies:
            raise unknown("study", name, self.studies, where=str(self._folder))

    def _opened(self, name: str) -> Journal:
        self._require(name)
        return self._read(self._folder / name)


def _of_study(source: QuoteSource, journal: Journal) -> str:
    _take_no_cell(source, "a whole study")
    fact = OF_A_STUDY[source.measure](extent(journal))
    if not fact:
        raise UsageError(f"the journal has no {source.measure}")
    return fact


def _noise(source: QuoteSource, journal: Journal) -> str:
    measure, workload = source.measure.removeprefix(NOISE), source.cell.get("workload")
    if measure not in NOISY:
        raise unknown("measure", measure, NOISY, where=NOISE)
    if source.cell.keys() != {"workload"} or source.over:
        raise UsageError(f"{source.measure} is of a workload alone: write workload=NAME")
    spread = noise_of(journal).of(str(workload), measure)
    if math.isnan(spread):
        raise UsageError("the study has no A/A pair that has it")
    return percent(spread)


def _take_no_cell(source: QuoteSource, whole: str) -> None:
    if source.cell or source.over:
        raise UsageError(f"{source.measure} is a fact about {whole} and takes no cell")
