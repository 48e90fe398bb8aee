"""One figure of a study, by the name of its file: what a notebook shows."""

import matplotlib as mpl

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.report.plots.draw import named_sheets
from scaling.report.plots.sheet import Sheet
from scaling.report.plots.style import RC


def drawn(journal: Journal, name: str) -> Sheet:
    """The figure that `scaling plot` writes as `name`.svg, such as `echo-weak-ladder`.

    Raises:
        UsageError: the study has no such figure; it says which there are.
    """
    known = []
    with mpl.rc_context(RC):
        results = StudyResults.of(journal)
        for known_as, sheet in named_sheets(results):
            if known_as == name:
                return sheet
            known.append(known_as)
    raise UsageError(f"{journal.study.name} has no figure {name!r}; there are {', '.join(known)}")
