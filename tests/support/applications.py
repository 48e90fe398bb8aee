"""The former names of `FakeAppStudy`, for tests that are not changed yet."""

from pathlib import Path
from typing import Any

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from tests.support.served_studies import CONFIGURATIONS, FakeAppStudy

__all__ = ["CONFIGURATIONS", "application_study", "results_of"]

FORMER = {"speeds": "answers_per_s", "noise": "speed_noise"}


def application_study(folder: Path, **changes: Any) -> Path:
    """The journal of a study of an application, at its peak and at 400 requests/s."""
    named = {FORMER.get(name, name): value for name, value in changes.items()}
    return FakeAppStudy(**named).write(folder)


def results_of(path: Path) -> StudyResults:
    """Those of a journal."""
    return StudyResults.of(read_journal(path))
