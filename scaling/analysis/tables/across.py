"""Two studies: each cell of both, now over then, with its word; and what else differs.

Their runs were not made side by side, so nothing pairs them, and whatever changed on the machine is
in the ratio, too. Rows are those of `scaling.analysis.tables.ratios`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.intervals import differences, in_two_states, unpaired_lower
from scaling.analysis.tables.derived import memory_kinds
from scaling.analysis.tables.ratios import (
    ABOUT,
    OF_CELL,
    doubts_of,
    nothing,
    records,
    with_words,
    withheld,
)
from scaling.analysis.tables.scope import MeasuredScope
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.turns import OTHER_STUDY
from scaling.analysis.tables.values import Measure
from scaling.analysis.tables.words import FARTHEST, OPEN, Scale, blocks_to_decide, said, scale_of
from scaling.journal.identity import Identity, identity_of
from scaling.journal.record import StudyLine
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import MEMORY, Asked, two_studies

# Options that may differ between two studies without any cell being measured differently. With
# strong sizing the largest N of a workload is not one of them: it decides what is in flight.
HARMLESS = frozenset(
    {"name", "preset", "blocks", "seed", "arms", "workloads", "models", "loops", "sizing", "margin"}
    | {"workers", "aa_pairs"}
)
ENDS = ((90, "low"), (90, "high"), (95, "low"), (95, "high"))


def across(now: Study, then: Study) -> pd.DataFrame:
    """The ratios of a study over an earlier one: a row per cell of both and measure.

    Columns are those of `ratios` that two studies have, and `then`, the place of the cell in the
    earlier one. Of two medians that are bounds to the same side the ratio is not known.
    """
    scopes = [scope_of(study) for study in (now, then)]
    rows = [
        row
        for asked in two_studies(*scopes)
        if (row := _row(asked, now, then, scopes[0], scopes[1])) is not None
    ]
    if not rows:
        return nothing()
    parts = [
        with_words(part, scale_of(str(name), now.margin))
        for name, part in pd.DataFrame(rows).groupby("measure", sort=False)
    ]
    found = pd.concat(parts).sort_index()
    doubts = [each for study in (now, then) for each in doubts_of(study.ratios, study.cells)]
    found = withheld(found, now.cells, doubts)
    scales = [scale_of(str(name), now.margin) for name in found["measure"]]
    found["said"] = [said(row, scale) for row, scale in zip(records(found), scales, strict=True)]
    is_open = found["word"] == OPEN
    found["blocks_to_decide"] = found["blocks_to_decide"].where(is_open)
    return found.join(now.cells[[*ABOUT, *OF_CELL]], on="of")


def scope_of(study: Study) -> MeasuredScope:
    """The cells of a study as questions are asked of them."""
    return MeasuredScope(study.measures, [each.text for each in study.objectives])


def _row(
    asked: Asked, now: Study, then: Study, ours: MeasuredScope, theirs: MeasuredScope
) -> dict[str, Any] | None:
    """One ratio; None where a study has no value, or memory of another kind."""
    of, over = ours.place.get(asked.of), theirs.place.get(asked.of)
    if of is None or over is None:
        return None
    kinds = [memory_kinds(s.measures)[place] for s, place in ((now, of), (then, over))]
    if asked.measure == MEMORY and kinds[0] != kinds[1]:
        return None
    new, old = now.measures[asked.measure], then.measures[asked.measure]
    scale = scale_of(asked.measure, now.margin)
    figures = _figures(_column(new, of), _column(old, over), scale)
    if figures is None:
        return None
    about = {"question": asked.question, "measure": asked.measure, "of": of, "then": over}
    beside = {"why_not_in_turn": OTHER_STUDY, "memory_kind": kinds[0], "headline": False}
    return about | figures | beside


def _column(measure: Measure, place: int) -> Measure:
    known = np.isfinite(measure.value[:, place])
    return Measure(
        *(
            getattr(measure, name)[known, place][:, np.newaxis]
            for name in ("value", "bound", "least", "most")
        )
    )


def _figures(new: Measure, old: Measure, scale: Scale) -> dict[str, Any] | None:
    """The median ratio, its interval (the range below six values on a side), and its ends as
    logarithms that are turned so that more is better.
    """
    counts = [len(each.value) for each in (new, old)]
    sides = [int(each.side[0]) for each in (new, old)]
    if not min(counts) or (sides[0] and sides[0] == sides[1]):
        return None
    logs = [_logs(each.value) for each in (new, old)]
    every = differences(*logs)
    if not len(every):
        return None
    n = min(counts)
    low, high = float(every[0]), float(every[-1])
    if n >= FEWEST_FOR_INTERVAL:
        low = unpaired_lower(logs[0], logs[1], 0.95)
        high = -unpaired_lower(logs[1], logs[0], 0.95)
    margin = float(np.log1p(scale.tiers[0]))
    states = any(bool(in_two_states(side[:, np.newaxis], margin)[0]) for side in logs)
    ends = _ends(new, old, scale, usable=n >= FEWEST_FOR_INTERVAL and not states)
    spreads = [float(side.std(ddof=1)) if n > 1 else np.nan for side in logs]
    scatter = np.array([np.hypot(spreads[0], spreads[1])])
    middle = np.array([scale.sign * float(np.median(every))])
    return {
        "ratio": float(np.exp(np.median(every))),
        "low": float(np.exp(low)),
        "high": float(np.exp(high)),
        "n": n,
        "known": n,
        "bound": int(np.sign(sides[0] - sides[1])),
        "states": states,
        "blocks_to_decide": float(blocks_to_decide(middle, scatter, scale)[0]),
        **ends,
    }


def _ends(new: Measure, old: Measure, scale: Scale, *, usable: bool) -> dict[str, float]:
    """`low_90` to `high_95`, and `high_sure`: `FARTHEST` where there is no interval."""
    least = _logs(new.least), _logs(old.most)
    most = _logs(new.most), _logs(old.least)
    if scale.sign < 0:
        least, most = (most[1], most[0]), (least[1], least[0])
    found = {}
    for level, end in ENDS:
        if not usable:
            value = -FARTHEST if end == "low" else FARTHEST
        elif end == "low":
            value = unpaired_lower(*least, level / 100)
        else:
            value = -unpaired_lower(most[1], most[0], level / 100)
        found[f"{end}_{level}"] = value
    return found | {"high_sure": found["high_95"]}


def _logs(values: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.clip(np.log(values.ravel()), -FARTHEST, FARTHEST)


# ------------------------------------------------------------------------------ what else differs


def differences_of(now: Study, then: Study) -> tuple[str, ...]:
    """Other differences of the two studies, any of which may cause a ratio."""
    return _comparable(now.line).differences(_comparable(then.line))


def common(now: Study, then: Study) -> tuple[list[int], list[int]]:
    """The places of the cells of both studies, in the one and in the other."""
    ours, theirs = (scope_of(study) for study in (now, then))
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
    known = set(scope_of(other).cells)
    cells = one.cells[~one.cells["twin"] & ~one.cells["rated"]]
    return int((~cells["cell"].isin(known)).sum())
