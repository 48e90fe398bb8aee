"""Losses of time: each cell of several workers against one, term by term."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from scaling.analysis.table.time_terms import TERMS, WHOLE, Term
from scaling.analysis.tables.cells import cell_name
from scaling.analysis.tables.derived import FACTOR, LOSS, MACHINE, SHARING, merged
from scaling.analysis.tables.study import Study
from scaling.base.formats import listed, number, percent
from scaling.base.models import workers_in_words
from scaling.builds.arms import parse_arm
from scaling.report.render.grid import Grid, Heading
from scaling.report.view.declare import Field, Figure, Row, Table, figure, plain
from scaling.study.presets import FEWEST_FOR_INTERVAL, MARGIN

NS_PER_S = 1e9
IDEAL = 1 / (1 + MARGIN)  # an efficiency that is no loss
FEWEST_WAITS = 0.005  # share of a call among the samples that is worth a word
TOTAL, EFFICIENCY = LOSS.format(WHOLE.name), FACTOR.format(WHOLE.name)

OTHERS = Table(
    "Other cells, what loses most first",
    rows={"": ("name", "loop", "arm", "model"), "N": ("workers",)},
    columns=(
        Figure(Heading("efficiency"), EFFICIENCY),
        Figure(Heading("lost, ns/op"), TOTAL),
        Field(Heading("largest part", left=True), "largest"),
    ),
)
OF_TERMS = Table(
    "",
    rows={"": ("term",)},
    columns=(
        Figure(Heading("lost, ns/op"), "loss"),
        Figure(Heading("× of the efficiency"), "factor"),
    ),
)


def lost(study: Study) -> pd.DataFrame:
    """The cells at N > 1 with readings: what a study is about first, and what loses most.

    Columns: those of `cells`; `place`; `title`, such as `echo · uvloop · 3.14t · threads · N = 2`;
    `largest`, the words of the largest loss that is proven, empty unless the cell misses its ideal
    by more than the margin. Controls come last, and cells with more workers than CPUs, most of
    whose loss is waiting for one.
    """
    cells = study.cells[~study.cells["twin"]]
    found = cells[[study.estimate(place, TOTAL) is not None for place in cells.index]]
    efficiencies = [study.estimate(place, EFFICIENCY) for place in found.index]
    largest = [largest_loss(study, place) for place in found.index]
    without_gil = found["arm"].map(lambda arm: parse_arm(arm).without_gil).astype(bool)
    found = found.assign(
        place=found.index,
        title=[cell_name(row) for row in found.to_dict("records")],
        largest=[term.words if term else "" for term in largest],
        is_last=found["control"] | (found["region"] == "oversubscribed"),
        is_other=(found["model"] != "threads") | ~without_gil,
        efficiency=[each["point"] if each else np.inf for each in efficiencies],
    )
    return found.sort_values(["is_last", "is_other", "efficiency"], kind="stable")


def largest_loss(study: Study, place: int) -> Term | None:
    """The largest loss of a cell that is proven; None where the ideal is not missed for certain."""
    efficiency = study.estimate(place, EFFICIENCY)
    if not efficiency or efficiency["n"] < FEWEST_FOR_INTERVAL or efficiency["high"] >= IDEAL:
        return None
    proven = {
        term: row["point"]
        for term in TERMS
        if (row := study.estimate(place, LOSS.format(term.name))) and row["low"] > 0
    }
    return max(proven, key=proven.__getitem__, default=None)


def waits(study: Study, place: int) -> dict[str, float]:
    """The mean share of each call among the samples of a cell's runs, the most frequent first."""
    rows = study.measures.places[:, place]
    samples = [each for each in study.runs["waits"].iloc[rows[rows >= 0]] if each]
    names = dict.fromkeys(name for each in samples for name in each)
    shares = {name: float(np.mean([each.get(name, 0.0) for each in samples])) for name in names}
    return dict(sorted(shares.items(), key=lambda each: -each[1]))


def sentences(study: Study, place: int) -> Iterator[str]:
    """The efficiency of a cell, its largest loss with the cause, and the machine's part."""
    cell: Row = study.cells.loc[place].to_dict()
    whole = study.estimate(place, TOTAL)
    efficiency, largest = study.estimate(place, EFFICIENCY), largest_loss(study, place)
    who = f"{workers_in_words(cell['model'], cell['workers'])} on {cell['arm']}"
    assert whole is not None
    lost_ns = f"{_ns(whole)} ns of worker time per operation"
    if efficiency is None:
        yield f"{who} take {lost_ns} more than one, at a rate: throughput is the schedule's."
    else:
        times = number(cell["workers"] * efficiency["point"])
        share = figure(efficiency, "point")
        yield f"{who} do {times} times the work of one: efficiency {share}."
        yield f"What is lost: {lost_ns}."
        if largest is None:
            yield _without_cause(efficiency)
    if largest is not None:
        yield from _of_largest(study, place, largest, whole)
    machine, sharing = (study.estimate(place, each) for each in (MACHINE, SHARING))
    if machine and sharing:
        yield (
            f"As many processes lose {_ns(machine)} ns, which is the machine's part; "
            f"sharing a process costs {_ns(sharing)} ns."
        )
    if merged(study.measures)[place]:
        yield "Calls could not be sampled: idle has what is blocked, and the rest, in it."


def _of_largest(study: Study, place: int, largest: Term, whole: Row) -> Iterator[str]:
    row = study.estimate(place, LOSS.format(largest.name)) or {}
    share = percent(row["point"] / whole["point"])
    yield f"The largest part is {largest.words}, {_ns(row)} ns ({share}): {largest.cause}."
    calls = [
        f"{name} ({percent(share)})"
        for name, share in waits(study, place).items()
        if share >= FEWEST_WAITS
    ]
    if largest.name == "blocked" and calls:
        yield f"Blocked in: {listed(calls)}."


def _ns(row: Row) -> str:
    """`4,200 (3,900–4,500)`."""
    return str(figure(row, "point", NS_PER_S))


def _without_cause(efficiency: Row) -> str:
    """Reason no loss is named."""
    if efficiency["n"] < FEWEST_FOR_INTERVAL:
        return f"Too few blocks to name a cause ({efficiency['n']} of {FEWEST_FOR_INTERVAL})."
    if efficiency["low"] >= IDEAL:
        return f"Nothing is lost beyond the margin of {percent(MARGIN)}."
    return "No loss is proven: more blocks may decide it."


def terms_grids(study: Study, place: int) -> Iterator[Grid]:
    """A row for each term of a cell, and their sum: the loss in ns per operation, the factor."""
    rows = []
    for term in (*TERMS, WHOLE):
        for kind, name, factor in (("loss", LOSS, NS_PER_S), ("factor", FACTOR, 1.0)):
            if row := study.estimate(place, name.format(term.name)):
                figures = {end: factor * row[end] for end in ("point", "low", "high")}
                rows.append({**row, **figures, "measure": kind, "term": term.words})
    title = cell_name(study.cells.loc[place].to_dict())
    yield from replace(OF_TERMS, title=title).grids(study, pd.DataFrame(rows))


def others_grids(study: Study, cells: pd.DataFrame) -> Iterator[Grid]:
    """A row for each cell of `lost`: its efficiency, its loss, and the largest part of it."""
    rows = [
        {**cell, **row}
        for cell in cells.to_dict("records")
        for measure in (EFFICIENCY, TOTAL)
        if (row := study.estimate(cell["place"], measure))
    ]
    yield from OTHERS.grids(study, pd.DataFrame(rows))


def record(study: Study, cell: Row) -> dict[str, Any]:
    """A cell, a row of `lost`, for programs; what is not known is null."""
    place = cell["place"]
    about = ("workload", "sizing", "loop", "arm", "model", "workers")
    whole, largest = study.estimate(place, TOTAL), largest_loss(study, place)
    names = {term.name: term.name for term in TERMS}

    def of(measure: str, factor: float = 1.0) -> dict[str, float] | None:
        row = study.estimate(place, measure)
        ends = {"value": "point", "low": "low", "high": "high"}
        return {name: factor * row[end] for name, end in ends.items()} if row else None

    return {
        "cell": cell["title"],
        **{name: plain(cell[name]) for name in about},
        "parameters": dict(cell["cell"].parameters),
        "blocks": plain(whole["n"]) if whole else 0,
        "terms_ns": {
            key: of(LOSS.format(name), NS_PER_S)
            for key, name in (names | {"total": WHOLE.name}).items()
        },
        "factors": {
            key: of(FACTOR.format(name))
            for key, name in (names | {"efficiency": WHOLE.name}).items()
        },
        "largest": largest.name if largest else None,
        "machine_ns": of(MACHINE, NS_PER_S),
        "sharing_ns": of(SHARING, NS_PER_S),
        "waits": waits(study, place),
        "sentence": " ".join(sentences(study, place)),
    }


def has_readings(runs: pd.DataFrame) -> bool:
    """Return whether any run has readings of where its time went."""
    return bool(runs[WHOLE.column].notna().any())
