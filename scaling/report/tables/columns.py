"""How figures are written for other programs: the same columns in every CSV file."""

from pathlib import Path

import pandas as pd

from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate


def estimate_columns(name: str, value: Estimate) -> dict[str, object]:
    """An estimate as columns: `name` is the median, the others begin with it.

    `_low` and `_high` are its bounds, `_n` is how many values it rests on, `_method` how the bounds
    were made, `_coverage` the share of such intervals that hold the true median (blank for a
    range), and `_spread` how far single values lie apart
    (`scaling.analysis.statistics.estimate.Estimate`).
    """
    return {
        name: value.point,
        f"{name}_low": value.low,
        f"{name}_high": value.high,
        f"{name}_n": value.n,
        f"{name}_method": value.method,
        f"{name}_coverage": value.coverage,
        f"{name}_spread": value.spread,
    }


def study_columns(results: StudyResults) -> dict[str, object]:
    """What no figure of a study must be read without: what its `controls` say, its `scale`, and
    that it is `simulated`, if it is.
    """
    study = results.study
    about = {"controls": results.soundness.status, "scale": study.study.get("scale", 1.0)}
    return about | ({"simulated": True} if study.simulated else {})


def write_rows(rows: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, with more digits than are significant. Raises `OSError`."""
    rows.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
