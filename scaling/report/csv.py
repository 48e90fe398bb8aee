"""The tables of a study as CSV files: `summary.csv`, `comparison.csv` and `losses.csv`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from scaling.analysis.build_differences import build_differences
from scaling.analysis.stacks import NS_PER_S
from scaling.analysis.table.groups import CELL
from scaling.analysis.table.time_terms import TERMS, WHOLE
from scaling.analysis.tables.derived import FACTOR, FACTORS, LOSS, MACHINE, SHARING, memory_kinds
from scaling.analysis.tables.study import Study
from scaling.study.questions import THROUGHPUT

FIGURES = ["point", "low", "high", "n"]
SUFFIXES = ["", "_low", "_high", "_n"]
COUNTS = ["runs", "suspect", "left_out", "allocator_state"]
LEFT_TO_LOSSES = {LOSS.format(term.name) for term in (*TERMS, WHOLE)} | {*FACTORS, MACHINE, SHARING}


def write(rows: pd.DataFrame, file: Path) -> None:
    """Write rows as CSV with six significant digits. Raises `OSError`."""
    rows.to_csv(file, index=False, float_format="%.6g", lineterminator="\n")


def _about(study: Study) -> dict[str, Any]:
    return {
        "controls": study.soundness.status,
        "scale": study.line.study.get("scale", 1.0),
        **({"simulated": True} if study.line.simulated else {}),
    }


def _columns(name: str, estimates: pd.DataFrame, factor: float = 1.0) -> pd.DataFrame:
    """Estimates by cell, in the columns NAME, NAME_low, NAME_high and NAME_n.

    Bounds are 95 % intervals, below six blocks the range.
    """
    found = estimates.set_index("cell")[FIGURES]
    found[FIGURES[:3]] *= factor
    return found.set_axis([name + suffix for suffix in SUFFIXES], axis=1)


def summary(study: Study) -> pd.DataFrame:
    """A row per cell: its key, the number of its runs, and each figure, with units in its name.

    Figures that begin with `own_` are the workload's own. A capacity is of all rates together, so
    it has a row without a rate and without runs.
    """
    cells = study.cells[~study.cells["twin"]]
    names = [*CELL, "region", "operation", "runs", "suspect", "again", "left_out"]
    found = cells[[*names, "allocator_state"]].copy()
    found["memory_kind"] = memory_kinds(study.measures)[cells.index]
    found = found.assign(**_about(study))
    found.insert(0, "study", study.line.name)
    known = set(study.estimates["measure"]) - LEFT_TO_LOSSES
    shown = {each: study.shown(each) for each in study.measures.names if each in known}
    estimates = study.estimates
    tables = {
        suffix: estimates.pivot(index="cell", columns="measure", values=each).reindex(found.index)
        for each, suffix in zip(FIGURES, SUFFIXES, strict=True)
    }
    figures = {
        f"{each.name}{suffix}": table[name].to_numpy() * (1.0 if suffix == "_n" else each.factor)
        for name, each in sorted(shown.items(), key=lambda measure: measure[1].place)
        for suffix, table in tables.items()
    }
    return pd.concat([found, pd.DataFrame(figures, found.index)], axis=1)


def comparison(study: Study) -> pd.DataFrame:
    """A row per ratio; ratios of A/A pairs have the question `equal cells`.

    Columns: workload, parameters, sizing and loop; `question` and `measure` (of a step of the
    ladder what it changes); the configuration of the cell, and with `over_` of the divisor; `ratio`
    with its interval; `word`; `p`, the p-value of the difference that the word states (1: none);
    `at_most_percent`, the most by which the ratio can be worse; `why` there is no word; `said`, the
    word with its figures; `blocks_to_decide` an open ratio; `candidates`; `headline`; `in_turn` and
    `why_not_in_turn`; `memory_kind`; `builds_differ`, unwanted differences of the two builds;
    `controls`.
    """
    ratios = study.ratios
    named = ratios["measure"].map(lambda name: "throughput" if name == THROUGHPUT else name)
    cells = study.cells[COUNTS]
    of, over = (cells.loc[ratios[end]].set_axis(ratios.index) for end in ("of", "over"))
    ends = {name: f"ratio_{name}" for name in ("low", "high", "n")}
    found = pd.concat(
        [
            ratios[["workload", "parameters", "sizing", "loop", "question"]],
            ratios["step"].where(ratios["step"] != "", named).rename("measure"),
            ratios[["arm", "model", "workers"]],
            of,
            ratios[["over_loop", "over_arm", "over_model", "over_workers"]],
            over.add_prefix("over_"),
            ratios[["ratio", *ends]].rename(columns=ends),
            ratios[["word", "p", "at_most_percent", "why", "said"]],
            ratios[["blocks_to_decide", "candidates"]],
        ],
        axis=1,
    )
    found.insert(0, "study", study.line.name)
    return found.assign(
        headline=ratios["main"],
        in_turn=ratios["why_not_in_turn"] == "",
        why_not_in_turn=ratios["why_not_in_turn"],
        memory_kind=ratios["memory_kind"],
        builds_differ=_differ(study, ratios),
        **_about(study),
    )


def _differ(study: Study, ratios: pd.DataFrame) -> list[str]:
    pairs = list(zip(ratios["arm"].astype(str), ratios["over_arm"].astype(str), strict=True))
    known = {pair: ", ".join(build_differences(study.line, pair)) for pair in dict.fromkeys(pairs)}
    return [known[pair] for pair in pairs]


def losses(study: Study) -> pd.DataFrame:
    """A row per cell of several workers and term: the growth of worker time against one worker.

    `loss_ns` is in ns of worker time per operation; the product of all `factor`s is the efficiency.
    `machine_ns` is the loss of as many processes, `sharing_ns` the further loss of threads that
    share a process; both stand in the row of all terms.
    """
    estimates = dict(iter(study.estimates.groupby("measure", sort=False)))
    cells = study.cells[~study.cells["twin"] & ~study.cells["rated"]]
    parts = [
        cells.loc[cells.index.isin(estimates[LOSS.format(term.name)]["cell"]), CELL]
        .assign(term="all" if term is WHOLE else term.name)
        .join(pd.concat(list(_of_term(term.name, estimates)), axis=1))
        for term in (*TERMS, WHOLE)
        if LOSS.format(term.name) in estimates
    ]
    if not parts:
        return pd.DataFrame()
    found = pd.concat(parts).sort_index(kind="stable")
    found.insert(0, "study", study.line.name)
    return found.assign(**_about(study))


def _of_term(term: str, estimates: Mapping[Any, pd.DataFrame]) -> Iterator[pd.DataFrame]:
    measures = {"loss_ns": LOSS.format(term), "factor": FACTOR.format(term)}
    if term == WHOLE.name:
        measures |= {"machine_ns": MACHINE, "sharing_ns": SHARING}
    for name, measure in measures.items():
        if measure in estimates:
            yield _columns(name, estimates[measure], NS_PER_S if name.endswith("_ns") else 1.0)
