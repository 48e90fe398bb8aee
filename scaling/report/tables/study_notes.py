"""Notes on a study as a whole, above its tables: drift and outliers."""

import pandas as pd

from scaling.analysis.statistics.drift import Drift
from scaling.base import formats
from scaling.builds.arms import switched


def study_notes(frame: pd.DataFrame, drift: Drift) -> list[str]:
    """A sentence for each note; often none."""
    arms = map(str, frame["arm"].unique())
    return [note for note in (*switched(arms), drift.text, _outliers(frame)) if note]


def _outliers(frame: pd.DataFrame) -> str:
    """`2 runs are outliers of their cells, labelled and kept`."""
    count = int((frame["outlier"] & frame["valid"]).sum())
    if not count:
        return ""
    are = "is an outlier of its cell" if count == 1 else "are outliers of their cells"
    return f"{formats.plural(count, 'run')} {are}: labelled, and kept in every figure."
