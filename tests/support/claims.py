"""Claims of others, checked against the rows of each machine's published tables.

`results/claims.toml` has them: who claims what, the row that tests it, and a relation: the figure
is `at_least` or `at_most` a bound, or both. With `over` the claim is about that row over another
one: the same with these values changed. What no study here can test says why (`cannot`).

A claim holds where the whole interval is inside the relation, and does not hold where the whole
interval is outside of it. Of two rows the ratio has the bounds that both intervals allow. That is
wider than an interval of ratios inside blocks, which `comparison.csv` has: it is for what no study
compares.

`python -m tests.support.claims` (`nox -s claims`) writes a page for each machine.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import pandas as pd

from scaling.base.errors import UsageError, unknown
from scaling.base.formats import number, plural
from tests.support.children import ROOT
from tests.support.tables import (
    COMPARISON,
    ENVIRONMENT,
    PUBLISHED,
    Figure,
    Row,
    figure_of,
    fitting,
    select,
    table_of,
    toml,
)

FILE = ROOT / "results" / "claims.toml"
FEWEST = 6  # blocks of an interval
VOID = "void"

type Word = Literal["holds", "does not hold", "inconclusive", "cannot be tested here"]
WORDS: tuple[Word, ...] = ("holds", "does not hold", "inconclusive", "cannot be tested here")
HOLDS, DOES_NOT, INCONCLUSIVE, UNTESTED = WORDS
PLURALS = {HOLDS: "hold", DOES_NOT: "do not hold"}


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who makes claims; `where`, if there is no `url`."""

    title: str
    author: str = ""
    year: int | None = None
    url: str = ""
    where: str = ""


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a source claims, in our words, and `theirs`, its figure in its own words.

    `why` is the relation in words, `cores` how many it needs (by default one for each worker),
    `run` the command that measures its cells, `note` what differs in our measurement.
    """

    name: str
    source: str
    claim: str
    theirs: str = ""
    table: str = COMPARISON
    column: str = "ratio"
    row: dict[str, Any] = {}
    over: dict[str, Any] = {}
    at_least: float = -math.inf
    at_most: float = math.inf
    why: str = ""
    cores: int | None = None
    run: str = ""
    note: str = ""
    cannot: str = ""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What its row has, and the one that it is over."""
        return [self.row, self.row | self.over] if self.over else [self.row]

    @property
    def cores_needed(self) -> int:
        """The physical cores without which it cannot be tested."""
        return self.cores or max(int(row["workers"]) for row in self.rows)


class Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sources by name, and the claims, source by source."""

    sources: dict[str, Source]
    claims: list[Claim]


@cache
def listed(file: Path = FILE) -> Listed:
    """What the file has.

    Raises:
        UsageError: the file cannot be read, or a field is wrong: the message has claim and field.
    """
    found = toml(file, Listed)
    names = [claim.name for claim in found.claims]
    for claim in found.claims:
        place = f"{file.name}: {claim.name}"
        if names.count(claim.name) > 1:
            raise UsageError(f"{place}: another claim has this name")
        if claim.source not in found.sources:
            raise unknown("source", claim.source, found.sources, where=place)
        is_bounded = math.isfinite(claim.at_least) or math.isfinite(claim.at_most)
        if bool(claim.cannot) == (bool(claim.row) and is_bounded and bool(claim.run)):
            raise UsageError(f"{place}: expected row, run and at_least or at_most, or else cannot")
    order = list(found.sources)
    found.claims.sort(key=lambda claim: order.index(claim.source))
    return found


# ------------------------------------------------------------------------------------------- decide


class Evidence(NamedTuple):
    """The figures of a study that decide a claim: that of its row, and of the one it is over."""

    study: str
    row: Row
    figures: Sequence[Figure]

    @property
    def figure(self) -> Figure:
        """The figure; of two rows the ratio, as far as both intervals let it be."""
        return self.figures[0] if len(self.figures) == 1 else self.figures[0].over(self.figures[1])

    @property
    def text(self) -> str:
        """`1.45 (1.37–1.53)`; of two rows `1.45 (1.37–1.53): 14,900 (…) over 10,300 (…)`."""
        each = " over ".join(figure.text() for figure in self.figures)
        return each if len(self.figures) == 1 else f"{self.figure.text()}: {each}"


class Judged(NamedTuple):
    """A claim with its word and the reason for it; without evidence it cannot be tested."""

    claim: Claim
    word: Word
    reason: str
    evidence: Evidence | None = None


def judged(claim: Claim, machine: Path) -> Judged:
    """A claim, decided by the study on a machine that has its rows and the most blocks.

    Raises:
        UsageError: several rows of a study have the values of the claim's row.
    """
    if claim.cannot:
        return Judged(claim, UNTESTED, claim.cannot)
    cores = min(map(_cores, table_of(machine, ENVIRONMENT)["machine"]))
    if cores < claim.cores_needed:
        takes = plural(claim.cores_needed, "core")
        return Judged(claim, UNTESTED, f"it takes {takes}; the machine has {cores:g}")
    table = table_of(machine, claim.table)
    studies = [set(fitting(table, wanted)["folder"]) for wanted in claim.rows]
    found = []
    for study in sorted(set.intersection(*studies)):
        place = f"{claim.name}: {study}/{claim.table}"
        own = table[table["folder"] == study]
        rows = [select(own, wanted, place) for wanted in claim.rows]
        figures = [figure_of(row, claim.column, place) for row in rows]
        found.append(Evidence(study, rows[0], figures))
    if not found:
        return Judged(claim, UNTESTED, "not measured")
    best = max(found, key=lambda each: (each.row["controls"] != VOID, each.figure.n))
    return Judged(claim, *decided(best, claim.at_least, claim.at_most), best)


def _cores(machine: dict[str, float | None]) -> float:
    """How many workers can have a full core each."""
    full = (machine.get("physical_cores") or 0) - (machine.get("efficiency_cpus") or 0)
    return min(
        filter(None, (full, machine.get("usable_cpus"), machine.get("cpu_quota"))), default=0
    )


def decided(evidence: Evidence, least: float, most: float) -> tuple[Word, str]:
    """The word for a figure that should be at least and at most so much, and the reason."""
    figure = evidence.figure
    if evidence.row["controls"] == VOID:
        return INCONCLUSIVE, "the study is void: its controls fail"
    if figure.n < FEWEST:
        return INCONCLUSIVE, f"{plural(figure.n, 'block')}; an interval takes {FEWEST}"
    if least <= figure.low and figure.high <= most:
        bounds = " and ".join(number(each) for each in (least, most) if math.isfinite(each))
        where = "above" if most == math.inf else "below" if least == -math.inf else "between"
        return HOLDS, f"its whole interval is {where} {bounds}"
    if figure.high < least:
        return DOES_NOT, f"its whole interval is below {number(least)}"
    if figure.low > most:
        return DOES_NOT, f"its whole interval is above {number(most)}"
    inside = [number(each) for each in (least, most) if figure.low <= each <= figure.high]
    return INCONCLUSIVE, f"its interval has {' and '.join(inside)} inside"


@cache
def all_judged(machine: Path, file: Path = FILE) -> list[Judged]:
    """Every claim of a file, as `judged` on a machine."""
    return [judged(claim, machine) for claim in listed(file).claims]


@cache
def claim_table(machine: Path) -> pd.DataFrame:
    """The claims as a table, each with its word on a machine."""
    rows = [(each.claim.name, each.claim.source, each.word) for each in all_judged(machine)]
    return pd.DataFrame(rows, columns=["name", "source", "word"])


# --------------------------------------------------------------------------------------------- page

INTRODUCTION = (
    "In brackets the 95 % interval (of fewer than six blocks the range). A claim holds or does not "
    "hold where the whole interval is inside or outside of its rule. Where a figure is one over "
    "another, and not a ratio of the study, it is as far apart as both intervals allow."
)


def page(machine: Path, file: Path = FILE) -> str:
    """The claims as Markdown: a section for each source, an item for each claim."""
    known, every = listed(file), all_judged(machine, file)
    parts = ["# Claims", counts(every), INTRODUCTION]
    for name, some in groupby(every, key=lambda each: each.claim.source):
        source = known.sources[name]
        heading = ", ".join(filter(None, (source.title, source.author, str(source.year or ""))))
        parts += [f"## {_safe(heading)}", f"<{source.url}>" if source.url else source.where]
        parts.append("\n".join(line for each in some for line in _item(each)))
    runs = Counter(each.claim.run for each in every if each.reason == "not measured")
    parts.append("## What is not measured")
    lines = [f"- {plural(n, 'claim')}: `{run}`" for run, n in runs.most_common()]
    return "\n\n".join([*parts, "\n".join(lines)]) + "\n"


def counts(every: Sequence[Judged]) -> str:
    """`12 claims: 1 holds, 3 do not hold, 2 inconclusive, 6 cannot be tested here.`."""
    found = Counter(each.word for each in every)
    parts = [
        f"{found[word]} {word if found[word] == 1 else PLURALS.get(word, word)}"
        for word in WORDS
        if found[word]
    ]
    return f"{plural(len(every), 'claim')}: {', '.join(parts)}."


def _item(each: Judged) -> Iterator[str]:
    """A claim, and what stands under it, each line with its label."""
    claim, evidence = each.claim, each.evidence
    yield f"- **{each.word}** · {_safe(claim.claim)}"
    lines = {"theirs": claim.theirs}
    if evidence:
        name, controls = evidence.study, evidence.row["controls"]
        differ = evidence.row.get("builds_differ")
        source = f"[{name}]({name}/tables.md): `{claim.column}` in `{claim.table}.csv`"
        lines["ours"] = evidence.text
        lines["from"] = source if controls == "sound" else f"{source}; controls {controls}"
        lines["builds"] = f"they also differ in {differ}" if differ else ""
        lines["rule"] = claim.why
    lines["why"] = each.reason
    lines["note"] = claim.note if evidence else ""
    yield from (f"  - {label}: {_safe(line)}" for label, line in lines.items() if line)


def _safe(text: str) -> str:
    """A text without what Markdown would take for its own; `code` stays code."""
    parts = text.split("`")
    return "`".join(
        part if place % 2 else re.sub(r"([\\*_<|])", r"\\\1", part)
        for place, part in enumerate(parts)
    )


if __name__ == "__main__":
    for machine in {file.parents[1] for file in PUBLISHED.rglob(f"{ENVIRONMENT}.json")}:
        (machine / "claims.md").write_text(page(machine), encoding="utf-8")
