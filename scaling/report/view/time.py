"""Where the time goes: what each cell of several workers loses against one, term by term."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from scaling.analysis.tables.derived import FACTOR, LOSS, MACHINE, SHARING, merged
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.terms import TERMS, WHOLE, Term
from scaling.base.formats import listed, number, percent, span
from scaling.base.vocabulary import WORKERS
from scaling.builds.arms import parse_arm
from scaling.report.render.grid import Grid, Heading, Text
from scaling.study.presets import FEWEST_FOR_INTERVAL, MARGIN

NS_PER_S = 1e9
IDEAL = 1 / (1 + MARGIN)  # an efficiency that is no loss
FEWEST_WAITS = 0.005  # share of a call among the samples that is worth a word


class Known(NamedTuple):
    """An estimate: point, low, high and the number of blocks."""

    point: float
    low: float
    high: float
    n: int

    def text(self, factor: float = 1.0) -> str:
        """`4,200 (3,900–4,500)`."""
        figures = [number(factor * each) for each in (self.point, self.low, self.high)]
        return f"{figures[0]} ({span(*figures[1:])})" if self.n > 1 else figures[0]


class Lost(NamedTuple):
    """One cell: where the time of its workers goes; `cell` is its row of `cells`.

    `whole` is the loss in s of worker time per operation, the sum of the `losses` by term;
    `efficiency` is NaN in an open loop, where throughput is the schedule's. `largest` is the
    largest loss that is proven, None unless the cell misses its ideal by more than the margin.
    `machine` is what as many processes lose, `sharing` the rest.
    """

    place: int
    cell: dict[Any, Any]
    whole: Known
    efficiency: Known | None
    losses: dict[Term, Known]
    factors: dict[Term, Known]
    largest: Term | None
    machine: Known | None
    sharing: Known | None

    @property
    def name(self) -> str:
        """`echo · uvloop · 3.14t · threads · N = 2`."""
        cell = self.cell
        words = [cell[each] for each in ("name", "loop", "arm", "model")]
        return f"{' · '.join(map(str, words))} · N = {cell['workers']}"

    @property
    def is_asked(self) -> bool:
        """Whether it is of threads without the GIL, which a study is about."""
        return self.cell["model"] == "threads" and parse_arm(self.cell["arm"]).without_gil

    @property
    def is_aside(self) -> bool:
        """Whether it is a control, or has more workers than there are CPUs: most of its loss is
        their waiting.
        """
        return bool(self.cell["control"]) or self.cell["region"] == "oversubscribed"


def lost(study: Study) -> list[Lost]:
    """Every cell at N > 1 with readings: what a study is about first, and what loses most."""
    measures = dict(iter(study.estimates.groupby("measure", sort=False)))
    known = {
        str(name): {
            cell: Known(*figures)
            for cell, *figures in rows[["cell", "point", "low", "high", "n"]].itertuples(
                index=False, name=None
            )
        }
        for name, rows in measures.items()
    }
    cells = study.cells[~study.cells["twin"]].to_dict("index")
    whole = known.get(LOSS.format(WHOLE.name), {})
    found = [_lost(int(str(p)), cell, known) for p, cell in cells.items() if p in whole]
    return sorted(found, key=_rank)


def _rank(each: Lost) -> tuple[bool, bool, float]:
    efficiency = each.efficiency.point if each.efficiency else np.inf
    return each.is_aside, not each.is_asked, efficiency


def _lost(place: int, cell: dict[Any, Any], known: dict[str, dict[int, Known]]) -> Lost:
    def of(name: str) -> Known | None:
        return known.get(name, {}).get(place)

    losses = {term: found for term in TERMS if (found := of(LOSS.format(term.name)))}
    factors = {term: found for term in TERMS if (found := of(FACTOR.format(term.name)))}
    whole, efficiency = of(LOSS.format(WHOLE.name)), of(FACTOR.format(WHOLE.name))
    assert whole is not None
    misses = (
        efficiency is not None and efficiency.n >= FEWEST_FOR_INTERVAL and efficiency.high < IDEAL
    )
    proven = [term for term, each in losses.items() if each.low > 0] if misses else []
    largest = max(proven, key=lambda term: losses[term].point, default=None)
    return Lost(place, cell, whole, efficiency, losses, factors, largest, of(MACHINE), of(SHARING))


def waits(study: Study, place: int) -> dict[str, float]:
    """The mean share of each call among the samples of a cell's runs, the most frequent first."""
    rows = study.measures.places[:, place]
    samples = [each for each in study.runs["waits"].iloc[rows[rows >= 0]] if each]
    names = dict.fromkeys(name for each in samples for name in each)
    shares = {name: float(np.mean([each.get(name, 0.0) for each in samples])) for name in names}
    return dict(sorted(shares.items(), key=lambda each: -each[1]))


def sentences(study: Study, each: Lost) -> Iterator[str]:
    """How far a cell is from its ideal, the largest loss with its cause, and the machine's part."""
    cell = each.cell
    who = f"{cell['workers']} {WORKERS.get(cell['model'], cell['model'])} on {cell['arm']}"
    lost_ns = f"{each.whole.text(NS_PER_S)} ns of worker time per operation"
    if each.efficiency is None:
        yield f"{who} take {lost_ns} more than one, at a rate: throughput is the schedule's."
    else:
        times = number(cell["workers"] * each.efficiency.point)
        yield f"{who} do {times} times the work of one: efficiency {each.efficiency.text()}."
        yield f"What is lost: {lost_ns}."
        if each.largest is None:
            yield _without_cause(each.efficiency)
    if each.largest is not None:
        amount = each.losses[each.largest]
        share = percent(amount.point / each.whole.point)
        yield (
            f"The largest part is {each.largest.words}, {amount.text(NS_PER_S)} ns ({share}): "
            f"{each.largest.cause}."
        )
    calls = [
        f"{name} ({percent(share)})"
        for name, share in waits(study, each.place).items()
        if share >= FEWEST_WAITS
    ]
    if each.largest is not None and each.largest.name == "blocked" and calls:
        yield f"Blocked in: {listed(calls)}."
    if each.machine is not None and each.sharing is not None:
        yield (
            f"As many processes lose {each.machine.text(NS_PER_S)} ns, which is the machine's "
            f"part; sharing a process costs {each.sharing.text(NS_PER_S)} ns."
        )
    if merged(study.measures)[each.place]:
        yield "Calls could not be sampled: idle has what is blocked, and the rest, in it."


def _without_cause(efficiency: Known) -> str:
    """Reason no loss is named."""
    if efficiency.n < FEWEST_FOR_INTERVAL:
        return f"Too few blocks to name a cause ({efficiency.n} of {FEWEST_FOR_INTERVAL})."
    if efficiency.low >= IDEAL:
        return f"Nothing is lost beyond the margin of {percent(MARGIN)}."
    return "No loss is proven: more blocks may decide it."


def terms_grid(each: Lost) -> Grid:
    """A row for each term of a cell, and their sum: the loss in ns per operation, the factor."""
    rows = [
        [Text(term.words), _ns(each.losses[term]), _factor(each.factors.get(term))]
        for term in each.losses
    ]
    rows.append([Text("all"), _ns(each.whole), _factor(each.efficiency)])
    headings = [Heading("", left=True), Heading("lost, ns/op"), Heading("× of the efficiency")]
    return Grid(each.name, headings, rows)


def _ns(value: Known) -> Text:
    low, high = (number(NS_PER_S * end) for end in (value.low, value.high))
    return Text(number(NS_PER_S * value.point), span(low, high) if value.n > 1 else "")


def _factor(value: Known | None) -> Text:
    if value is None:
        return Text("–")
    return Text(
        number(value.point), span(number(value.low), number(value.high)) if value.n > 1 else ""
    )


def others_grid(cells: list[Lost]) -> Grid:
    """A row for each cell: its efficiency, its loss, and the largest part of it."""
    rows = [
        [
            Text(each.name),
            _factor(each.efficiency),
            _ns(each.whole),
            Text(each.largest.words if each.largest else "–"),
        ]
        for each in cells
    ]
    headings = [
        Heading("", left=True, wrap=True),
        Heading("efficiency"),
        Heading("lost, ns/op"),
        Heading("largest part", left=True),
    ]
    return Grid("Other cells, what loses most first", headings, rows)


def record(study: Study, each: Lost) -> dict[str, Any]:
    """A cell for programs; what is not known is null."""
    cell = each.cell
    about = ("workload", "sizing", "loop", "arm", "model", "workers")
    return {
        "cell": each.name,
        **{name: cell[name] for name in about},
        "parameters": dict(cell["cell"].parameters),
        "blocks": each.whole.n,
        "terms_ns": {term.name: _plain(each.losses.get(term), NS_PER_S) for term in TERMS}
        | {"total": _plain(each.whole, NS_PER_S)},
        "factors": {term.name: _plain(each.factors.get(term)) for term in TERMS}
        | {"efficiency": _plain(each.efficiency)},
        "largest": each.largest.name if each.largest else None,
        "machine_ns": _plain(each.machine, NS_PER_S),
        "sharing_ns": _plain(each.sharing, NS_PER_S),
        "waits": waits(study, each.place),
        "sentence": " ".join(sentences(study, each)),
    }


def _plain(value: Known | None, factor: float = 1.0) -> dict[str, float] | None:
    if value is None:
        return None
    return {"value": value.point * factor, "low": value.low * factor, "high": value.high * factor}


def has_readings(runs: pd.DataFrame) -> bool:
    """Whether any run says where its time went."""
    return bool(runs[WHOLE.column].notna().any())
