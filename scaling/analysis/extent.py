"""The extent of a study: runs, blocks, times, and the runs that are missing."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scaling.base.formats import plural
from scaling.journal.record import StudyLine
from scaling.study.presets import FAILING_BLOCKS

MINUTE_S = 60.0
MEASURED = "measured"  # the outcome of a run that did not fail


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of a journal, with A/A duplicates, invalid runs and repeated ones included.

    `begun` and `ended` are instants in UTC, None if unknown. `minutes` is the sum of what the runs
    took; a night between two halves of a study is not in it.
    """

    begun: str | None
    ended: str | None
    blocks: int
    runs: int
    invalid: int
    minutes: float
    block_s: float  # what the runs of a whole block take on average

    @property
    def date(self) -> str | None:
        """The day on which it was begun, such as `2026-11-21`."""
        return self.begun[:10] if self.begun else None


def extent(runs: pd.DataFrame, study: StudyLine) -> Extent:
    """The extent of a study."""
    took_s = runs["elapsed_s"].to_numpy(np.float64)
    whole = (runs["block"] < study.study.get("blocks", np.inf)).to_numpy()
    last = (runs["at"] + pd.to_timedelta(runs["elapsed_s"], unit="s")).max()
    return Extent(
        begun=study.started_at,
        ended=None if pd.isna(last) else f"{last:%Y-%m-%dT%H:%M:%SZ}",
        blocks=int(runs["block"].nunique()),
        runs=len(runs),
        invalid=int((~runs["valid"]).sum()),
        minutes=float(np.nansum(took_s)) / MINUTE_S,
        block_s=float(np.nansum(took_s[whole])) / max(1, runs.loc[whole, "block"].nunique()),
    )


def incomplete(runs: pd.DataFrame, study: StudyLine, skipped: Collection[str] = ()) -> str:
    """`incomplete: 14 of 18 runs, 1 line cannot be read`; empty where nothing is missing.

    A run that was made again is one run. `skipped` are the notes on lines that cannot be read. A
    journal that does not say how many runs a block has is taken to have one whole block.
    """
    places = ["block", "position"]
    made = runs[[*places, "workload", "outcome"]].drop_duplicates(places)
    in_a_block = study.runs_per_block or int(made["position"].max()) + 1
    more = int(study.study.get("headline_blocks") or 0)
    blocks = max(study.blocks or 0, int(made["block"].max()) + 1 - more)
    planned = blocks * in_a_block + more * sum(study.headline_runs.values())
    planned -= _given_up(made, blocks, {name: more * n for name, n in study.headline_runs.items()})
    if len(made) >= planned and not skipped:
        return ""
    lost = f", {plural(len(skipped), 'line')} cannot be read" if skipped else ""
    return f"incomplete: {len(made):,} of {plural(planned, 'run')}{lost}"


def _given_up(runs: pd.DataFrame, blocks: int, beside: Mapping[str, int]) -> int:
    """The number of planned runs that were given up: those of workloads that always fail.

    A workload has as many runs in each of the `blocks`, and so many `beside` these.
    """
    count = 0
    for name, own in runs.groupby("workload", observed=True):
        in_a_block = own.groupby("block").size()
        if len(in_a_block) >= FAILING_BLOCKS and not (own["outcome"] == MEASURED).any():
            count += blocks * int(in_a_block.max()) + beside.get(str(name), 0) - len(own)
    return count
