"""Findings that take all runs of a cell, added to those of each run alone."""

from collections.abc import Mapping

import pandas as pd

from scaling.analysis.table.late import late_generators
from scaling.analysis.table.mixing import mixed_states
from scaling.analysis.validity import Finding

BETWEEN_RUNS = (mixed_states, late_generators)
"""Each gives findings for rows of the frame, by position, as the ones before it left the frame."""


def mark_between_runs(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with these findings among the reasons of its runs."""
    for find in BETWEEN_RUNS:
        frame = marked(frame, find(frame))
    return frame


def marked(frame: pd.DataFrame, found: Mapping[int, Finding]) -> pd.DataFrame:
    """The frame with the findings for some rows, by position."""
    if not found:
        return frame
    valid, validity = frame["valid"].to_numpy(copy=True), frame["validity"].tolist()
    reasons, details = frame["reasons"].tolist(), frame["details"].tolist()
    for row, finding in found.items():
        if finding.severity == "invalid":
            valid[row], validity[row] = False, finding.severity
            reasons[row] = (finding.word, *reasons[row])
            details[row] = (finding.detail, *details[row])
        else:
            validity[row] = finding.severity if valid[row] else validity[row]
            reasons[row] = (*reasons[row], finding.word)
            details[row] = (*details[row], finding.detail)
    return frame.assign(
        valid=valid,
        validity=pd.Categorical(validity, frame["validity"].cat.categories),
        reasons=pd.Series(reasons, frame.index, dtype=object),
        details=pd.Series(details, frame.index, dtype=object),
    )
