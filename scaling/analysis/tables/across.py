"""Two studies: each cell of both, now over then, with its word; and what else differs.

Their runs were not made side by side, so nothing pairs them, and whatever changed on the machine is
in the ratio, too. Rows are those of `scaling.analysis.tables.ratios`.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.intervals import differences, in_two_states, unpaired
from scaling.analysis.tables.derived import memory_kinds
from scaling.analysis.tables.ratios import (
    ABOUT,
    OF_CELL,
    OTHER_STUDY,
    doubts_of,
    nothing,
    with_words,
    withheld,
)
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.values import Measure, Values
from scaling.analysis.tables.words import (
    FARTHEST,
    OPEN,
    Scale,
    blocks_to_decide,
    known_ends,
    scale_of,
)
from scaling.journal.identity import Identity, identity_of
from scaling.journal.record import Cell, StudyLine
from scaling.study.load import is_open_loop
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import CAPACITY, CPU, MEMORY, P99, THROUGHPUT
from scaling.study.sections import sections, without_rate

QUESTION = "two studies"
# Options that may differ between two studies without any cell being measured differently. With
# strong sizing the largest N of a workload is not one of them: it decides what is in flight.
HARMLESS = frozenset(
    {"name", "preset", "blocks", "seed", "arms", "workloads", "models", "loops", "sizing", "margin"}
    | {"workers", "aa_pairs"}
)


def across(now: Study, then: Study) -> pd.DataFrame:
    """The ratios of a study over an earlier one: a row per cell of both and measure.

    Columns are those of `ratios` that two studies have, and `then`, the place of the cell in the
    earlier one. Of two medians that are bounds to the same side the ratio is not known, nor is that
    of memory of two kinds.
    """
    ours, theirs = now.measures, then.measures
    kinds, others = memory_kinds(ours), memory_kinds(theirs)
    rows = []
    for cell, measure in _compared(ours, theirs):
        of, over = ours.place.get(cell), theirs.place.get(cell)
        if of is None or over is None or (measure == MEMORY and kinds[of] != others[over]):
            continue
        new, old = _column(ours[measure], of), _column(theirs[measure], over)
        if figures := _figures(new, old, scale_of(measure, now.margin)):
            about = {"question": QUESTION, "measure": measure, "of": of, "then": over}
            rows.append(about | figures | {"memory_kind": kinds[of]})
    if not rows:
        return nothing()
    parts = [
        with_words(part, scale_of(str(name), now.margin))
        for name, part in pd.DataFrame(rows).groupby("measure", sort=False)
    ]
    found = pd.concat(parts).sort_index().assign(why_not_in_turn=OTHER_STUDY, headline=False)
    doubts = [each for study in (now, then) for each in doubts_of(study.ratios, study.cells)]
    found = withheld(found, now.cells, doubts, now.margin)
    found["blocks_to_decide"] = found["blocks_to_decide"].where(found["word"] == OPEN)
    return found.join(now.cells[[*ABOUT, *OF_CELL]], on="of")


def _compared(now: Values, then: Values) -> Iterator[tuple[Cell, str]]:
    """Each cell that both studies have, with the measures to compare.

    In an open loop P99 takes the place of throughput. Capacities are compared at the objectives
    that both studies state.
    """
    earlier = set(then.cells)
    for section in sections(now):
        pace = P99 if section.is_open_loop else THROUGHPUT
        for cell, measure in product(section.cells, (pace, CPU, MEMORY)):
            if cell in earlier:
                yield cell, measure
    rated, before = (
        dict.fromkeys(without_rate(each) for each in values.cells if is_open_loop(each.parameters))
        for values in (now, then)
    )
    for objective in now.objectives:
        if objective in then.objectives:
            for cell in filter(before.__contains__, rated):
                yield cell, CAPACITY.format(objective)


def _column(measure: Measure, place: int) -> Measure:
    known = np.isfinite(measure.value[:, place])
    return Measure(
        *(
            getattr(measure, name)[known, place][:, np.newaxis]
            for name in ("value", "bound", "least", "most")
        )
    )


def _figures(new: Measure, old: Measure, scale: Scale) -> dict[str, Any]:
    """The median ratio, its interval (the range below six values on a side), and its ends as
    logarithms that are turned so that more is better: `low_90` to `high_sure`, `FARTHEST` where
    there is no interval. Empty where the ratio is not known.
    """
    side, other = int(new.side[0]), int(old.side[0])
    logs, margin = (_logs(new.value), _logs(old.value)), float(np.log1p(scale.tiers[0]))
    every = differences(*logs)
    if not len(every) or (side and side == other):
        return {}
    n = min(map(len, logs))
    low, high = unpaired(*logs, 0.95)
    states = any(bool(in_two_states(each[:, np.newaxis], margin)[0]) for each in logs)
    spreads = [float(each.std(ddof=1)) if n > 1 else np.nan for each in logs]
    middle = float(np.median(every))
    needed = blocks_to_decide(
        np.array([scale.sign * middle]), np.array([math.hypot(*spreads)]), scale
    )
    figures = {
        "ratio": float(np.exp(middle)),
        "low": float(np.exp(low)),
        "high": float(np.exp(high)),
        "n": n,
        "known": n,
        "bound": int(np.sign(side - other)),
        "states": states,
        "blocks_to_decide": float(needed[0]),
    }
    for level in (90, 95):
        ends = -FARTHEST, FARTHEST
        if n >= FEWEST_FOR_INTERVAL and not states:
            least, _ = unpaired(_logs(new.least), _logs(old.most), level / 100)
            _, most = unpaired(_logs(new.most), _logs(old.least), level / 100)
            ends = (least, most) if scale.sign > 0 else (-most, -least)
            ends = tuple(known_ends(np.array(ends)).tolist())
        figures[f"low_{level}"], figures[f"high_{level}"] = ends
    return figures | {"high_sure": figures["high_95"]}


def _logs(values: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.clip(np.log(values.ravel()), -FARTHEST, FARTHEST)


# ------------------------------------------------------------------------------ what else differs


def differences_of(now: Study, then: Study) -> tuple[str, ...]:
    """Other differences of the two studies, any of which may cause a ratio."""
    return _comparable(now.line).differences(_comparable(then.line))


def common(now: Study, then: Study) -> tuple[list[int], list[int]]:
    """The places of the cells of both studies, in the one and in the other."""
    ours, theirs = now.measures, then.measures
    cells = [cell for cell in ours.cells if cell in theirs.place]
    return [ours.place[cell] for cell in cells], [theirs.place[cell] for cell in cells]


def is_backwards(now: Study, then: Study) -> bool:
    """Return whether the study called the earlier one was begun after the other."""
    began = [each.line.started_at for each in (then, now)]
    return None not in began and began != sorted(map(str, began))


def _comparable(study: StudyLine) -> Identity:
    same = identity_of(study)
    options = {name: value for name, value in same.study.items() if name not in HARMLESS}
    if largest := _dealt_out_over(same.study):
        options["workers"] = largest
    return replace(same, study=options)


def _dealt_out_over(study: Mapping[str, Any]) -> dict[str, int]:
    """The largest N of each workload that has strong sizing, as a settled study names them."""
    entries = study.get("workloads") or []
    strong = {entry["name"] for entry in entries if "strong" in (entry.get("sizing") or ())}
    largest: dict[str, int] = {}
    for entry in entries:
        if (name := entry["name"]) in strong:
            largest[name] = max([largest.get(name, 1), *(entry.get("workers") or ())])
    return largest


def alone(one: Study, other: Study) -> int:
    """The number of cells of one study that the other does not have."""
    return len(set(one.measures.cells) - set(other.measures.cells))
