"""Judged claims as rows, for notebooks and other programs."""

from collections.abc import Sequence

import pandas as pd

from scaling.analysis.claims.judging import JudgedClaim

COLUMNS = (
    "name", "source", "claim", "word", "theirs", "ours", "low", "high", "n", "unit", "what",
    "study", "builds_differ", "rule", "reason", "note", "run",
)  # fmt: skip


def table(judged: Sequence[JudgedClaim]) -> pd.DataFrame:
    """One row per claim, or one per figure where a claim names several.

    `ours` is the median of `what` over `n` blocks of the study in the folder `study`, in `unit`,
    with its bounds `low` and `high`; NaN and empty where the claim cannot be tested.
    `builds_differ` names other differences between the builds. `run` is the command that measures
    what is missing.
    """
    return pd.DataFrame([row for each in judged for row in _rows(each)], columns=list(COLUMNS))


def _rows(each: JudgedClaim) -> list[dict[str, object]]:
    claim = each.claim
    whole = {
        "name": claim.name,
        "source": claim.source,
        "claim": claim.claim,
        "word": each.word,
        "theirs": claim.theirs,
        "unit": "",
        "what": "",
        "study": each.study,
        "builds_differ": each.builds_differ,
        "rule": claim.why,
        "reason": each.reason,
        "note": claim.note,
        "run": each.run,
        "n": 0,
    }
    figures = [
        {
            "ours": figure.estimate.point,
            "low": figure.estimate.low,
            "high": figure.estimate.high,
            "n": figure.estimate.n,
            "unit": figure.estimate.unit,
            "what": figure.what,
        }
        for figure in each.ours
    ]
    return [whole | figure for figure in figures or [{}]]
