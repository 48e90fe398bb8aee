"""Tables of several studies: what changed, machines side by side, programs side by side."""

from collections.abc import Iterator, Mapping

import pandas as pd

from scaling.analysis.tables.across import alone, common, differences_of, is_backwards
from scaling.analysis.tables.derived import memory_kinds
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import SAME, side_of
from scaling.base.formats import plural
from scaling.report.render.grid import Heading
from scaling.report.view.declare import Field, Ratio, Table, Words
from scaling.report.view.shipped import shipped
from scaling.study.questions import P99, THROUGHPUT

CHANGES = Table(
    "What changed: RESULTS over OLD",
    rows={"": ("name", "loop", "arm", "model"), "N": ("workers",), "measure": ("measure",)},
    columns=(
        Ratio(Heading("ratio")),
        Words(Heading("", left=True, wrap=True)),
        Field(Heading("blocks to\ndecide"), "blocks_to_decide"),
    ),
)


def about_two(now: Study, then: Study) -> Iterator[str]:
    """Other differences of two studies, any of which may cause a ratio."""
    yield "The two studies were not made side by side: what changed on the machine is in the ratio."
    if is_backwards(now, then):
        yield "OLD was begun after RESULTS: are they the wrong way round?"
    if differences := differences_of(now, then):
        yield f"Not the same in both: {'; '.join(differences)}."
    for one, other, absent in (
        (now, then, "Not in OLD, and not compared with it"),
        (then, now, "Only in OLD, and not compared"),
    ):
        if count := alone(one, other):
            yield f"{absent}: {plural(count, 'cell')}."
    both = zip((now, then), common(now, then), strict=True)
    ours, theirs = (_facts(study, places) for study, places in both)
    differ = (ours != theirs) & ours.notna() & theirs.notna()
    if differ["memory"].any():
        yield "Memory is not compared where one study has PSS and the other RSS."
    if count := int(differ["state"].sum()):
        yield f"In another allocator state than in OLD: {plural(count, 'cell')}."


def _facts(study: Study, places: list[int]) -> pd.DataFrame:
    """The kind of memory of some cells, and their allocator states."""
    facts = {"memory": memory_kinds(study.measures), "state": study.cells["allocator_state"]}
    return pd.DataFrame(facts, dtype=object).loc[places].reset_index(drop=True)


PLACE = ["question", "measure", "step", "name", "loop", "arm", "model", "workers"]


def conclusions(studies: Mapping[str, Study]) -> pd.DataFrame:
    """The headline ratios of throughput, or of P99, on each machine, and whether they agree.

    Machines are not averaged. That a word holds on all is an intersection–union test (R. L. Berger,
    Technometrics 24 (1982)): each machine must show it at the level of a single test.
    """
    parts = [each.ratios.assign(study=name) for name, each in studies.items()]
    ratios = pd.concat(parts, ignore_index=True)
    asked = ratios[ratios["main"] & ~ratios["control"] & ratios["measure"].isin([THROUGHPUT, P99])]
    together = asked.groupby(PLACE, sort=False, dropna=False)
    holds = together["word"].transform(lambda words: _holds(words, len(studies)))
    return asked.assign(holds=holds, place=together.ngroup()).sort_values("place", kind="stable")


def _holds(words: "pd.Series[str]", machines: int) -> str:
    """Whether all machines say better, all worse or the same, or two of them differ."""
    said = {word if word == SAME else side_of(word) for word in words}
    if len(said - {0}) > 1:
        return "not everywhere"
    return "undecided" if 0 in said or len(words) < machines else "everywhere"


MACHINES = Table(
    "Every machine's own ratio, and whether they agree",
    rows={"": tuple(PLACE), "machine": ("study",)},
    columns=(
        Ratio(Heading("ratio")),
        Words(Heading("", left=True, wrap=True)),
        Field(Heading("holds", left=True), "holds"),
    ),
)


def programs(studies: Mapping[str, Study]) -> pd.DataFrame:
    """The configuration of each program to ship, a row for each aim."""
    parts = [shipped(each).assign(program=name) for name, each in studies.items()]
    return pd.concat(parts, ignore_index=True)


PROGRAMS = Table(
    "Programs side by side: N threads over the best processes",
    rows={"program": ("program",), "": ("aim",), "N": ("workers",)},
    columns=(
        Ratio(Heading("ratio")),
        Words(Heading("", left=True, wrap=True)),
        Field(Heading("ship", left=True), "ship"),
    ),
)
