"""One figure of a study, by the name of its file: what a notebook shows."""

import matplotlib as mpl

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.report.plots.draw import drawings
from scaling.report.plots.sheet import Sheet
from scaling.report.plots.style import RC


def drawn(journal: Journal, name: str) -> Sheet:
    """The figure that `scaling plot` writes as `name`.svg, such as `echo-weak-ladder`.

    Raises:
        UsageError: the study has no such figure; it says which there are.
    """
    with mpl.rc_context(RC):
        known = dict(drawings(StudyResults.of(journal)))
        if name in known:
            return known[name]()
    raise UsageError(f"{journal.study.name} has no figure {name!r}; there are {', '.join(known)}")
