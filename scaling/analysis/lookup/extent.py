"""How much was measured for a study, and when."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from scaling.analysis.table.load import Journal

MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Extent:
    """What a journal holds, with A/A duplicates, invalid runs and repeated ones included.

    `begun` and `ended` are instants in UTC, None if unknown. `minutes` is the sum of what the runs
    took; a night between two halves of a study is not in it.
    """

    begun: str | None
    ended: str | None
    blocks: int
    runs: int
    invalid: int
    minutes: float

    @property
    def date(self) -> str | None:
        """The day on which it was begun, such as `2026-11-21`."""
        return self.begun[:10] if self.begun else None


def extent(journal: Journal) -> Extent:
    """The extent of a journal."""
    frame = journal.frame
    took_s = frame["elapsed_s"].to_numpy(np.float64)
    ends = frame["at"] + pd.to_timedelta(frame["elapsed_s"], unit="s")
    last = ends.max()
    return Extent(
        begun=journal.study.started_at,
        ended=None if pd.isna(last) else f"{last:%Y-%m-%dT%H:%M:%SZ}",
        blocks=int(frame["block"].nunique()),
        runs=len(frame),
        invalid=int((~frame["valid"]).sum()),
        minutes=float(np.nansum(took_s)) / MINUTE_S,
    )
