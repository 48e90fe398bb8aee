"""What remedies bring, for other programs: as one JSON object, and as a table."""

import json
from typing import Any

import msgspec
import pandas as pd

from scaling.analysis.remedies import Factor, Found, remedies_in
from scaling.analysis.results import StudyResults
from scaling.builds.settings import SETTINGS
from scaling.report.remedies_view import python_lines, variables


def remedies_json(found: Found) -> str:
    """The object; `together` is empty where fewer than two remedies helped."""
    chosen = [SETTINGS[name] for name in found.best]
    document: dict[str, Any] = {
        "headline_workers": found.alone.headline_n,
        "factors": [_factor(each) for each in found.alone.factors],
        "in_doubt": ["+".join(each.added) for each in found.alone.suspicious],
        "together": [_factor(each) for each in found.together.factors] if found.together else [],
        "left_out": [msgspec.to_builtins(each) for each in found.left_out],
        "best": list(found.best),
        "paste": {"environment": variables(chosen), "python": python_lines(chosen)},
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def remedy_rows(results: StudyResults, without: str) -> pd.DataFrame:
    """One row for each figure of an arm with remedies over that of the arm `without` any.

    Columns: `subject` (the workload), `remedy`, `control` (it must not help), `arm`, `over`,
    `model`, `workers`, `measure`; the `ratio`, a median over `blocks`, with its bounds `low` and
    `high` (a 95 % interval where there is a `coverage`), its `verdict`, `why`, and `family`;
    `in_turn`, whether the two were measured in turn, and why not.
    """
    return pd.DataFrame([_factor(each) for each in remedies_in(results, [without]).factors])


def _factor(each: Factor) -> dict[str, Any]:
    ratio, verdict = each.ratio, each.ratio.verdict
    return {
        "subject": each.subject,
        "remedy": "+".join(each.added),
        "control": each.is_control,
        "arm": ratio.of.arm,
        "over": ratio.over.arm,
        "model": ratio.of.model,
        "workers": ratio.of.workers,
        "measure": ratio.figure,
        "ratio": ratio.point,
        "low": ratio.low,
        "high": ratio.high,
        "coverage": ratio.coverage,
        "blocks": ratio.n,
        "verdict": verdict.word,
        "why": verdict.why,
        "family": verdict.family,
        "in_turn": not ratio.why_apart,
        "why_not_in_turn": ratio.why_apart or None,
    }
