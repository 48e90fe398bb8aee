"""The former names of `tests.support.terms`, for tests that are not changed yet."""

from dataclasses import replace
from pathlib import Path

from scaling.analysis.losses import Attribution
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from tests.support.comparisons import place
from tests.support.fabricate import Made, studied
from tests.support.terms import IDEAL, Terms, TermsOf, frame_with_terms, plus

__all__ = ["IDEAL", "Terms", "TermsOf", "cell", "explained", "plus", "with_terms"]


def explained(folder: Path, made: Made, terms_of: TermsOf, *, noise: float = 0.01) -> StudyResults:
    """The results of a fake study whose runs have these terms, but for some `noise`."""
    return StudyResults.of(with_terms(studied(folder, made), terms_of, noise=noise))


def with_terms(journal: Journal, terms_of: TermsOf, *, noise: float = 0.01) -> Journal:
    """The journal with readings; throughput is what they say."""
    return replace(journal, frame=frame_with_terms(journal.frame, terms_of, noise=noise))


def cell(
    results: StudyResults, arm: str = "3.14t", model: str = "threads", n: int = 2
) -> Attribution:
    """One cell of a study that has one section and loop."""
    (found,) = [each for each in results.attributions if place(each.of) == (arm, model, n)]
    return found
