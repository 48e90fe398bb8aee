"""The extent of a study: runs, blocks, times, and the runs that are missing."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from scaling.analysis.table.groups import CELL
from scaling.base.formats import plural
from scaling.journal.record import StudyLine
from scaling.study.presets import FAILING_BLOCKS

MINUTE_S = 60.0
MEASURED = "measured"  # the outcome of a run that did not fail


def extent(runs: pd.DataFrame, study: StudyLine) -> dict[str, Any]:
    """The extent of a journal, with A/A duplicates, invalid runs and repeated ones included.

    `begun` and `ended` are instants in UTC, and `date` is the day on which it was begun, None if
    unknown. `minutes` is the sum of what the runs took; a night between two halves of a study is
    not in it.
    """
    last = (runs["at"] + pd.to_timedelta(runs["elapsed_s"], unit="s")).max()
    return {
        "date": study.started_at[:10] if study.started_at else None,
        "begun": study.started_at,
        "ended": None if pd.isna(last) else f"{last:%Y-%m-%dT%H:%M:%SZ}",
        "minutes": round(float(runs["elapsed_s"].sum()) / MINUTE_S, 1),
        "blocks": runs["block"].nunique(),
        "runs": len(runs),
        "invalid_runs": int((~runs["valid"]).sum()),
    }


def block_s(runs: pd.DataFrame, study: StudyLine) -> float:
    """The time that the runs of a whole block take on average, s."""
    whole = runs[runs["block"] < study.study.get("blocks", np.inf)]
    return float(whole["elapsed_s"].sum() / max(1, whole["block"].nunique()))


def incomplete(runs: pd.DataFrame, study: StudyLine, skipped: Collection[str] = ()) -> str:
    """`incomplete: 14 of 18 runs, 1 line cannot be read`; empty where nothing is missing.

    A run that was made again is one run. `skipped` are the notes on lines that cannot be read. A
    journal that does not say how many runs a block has is taken to have one whole block.
    """
    key = ["block", *CELL, "twin"]  # two first runs may share a position where rates come out equal
    made = runs[[*key, "position", "outcome"]].drop_duplicates(key)
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
