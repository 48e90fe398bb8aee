"""A claim holds, or does not, only where the interval of a published row is clear of its bounds.

The claims of the project name rows that exist, and commands that measure their cells.
"""

import shlex
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from scaling.base.errors import UsageError
from scaling.builds.runtimes import OWN_LOOP, RUNTIMES
from scaling.journal.record import Cell, Description, Offer
from scaling.machine.topology import Topology
from scaling.study.file import study_from
from scaling.study.plan.cells import make_plan
from tests.support.claims import Claim, Judged, judged, listed
from tests.support.pages import parsed
from tests.support.published_tables import GAIN, figure, publish
from tests.support.tables import COMPARISON

RUN = "scaling run --study scale --arm 3.14t"
ROW = {"workload": "echo", "arm": "3.14t", "workers": 2}
LISTED = """
[sources.somebody]
title = "Threads are free"
author = "A. Writer"
year = 2025
url = "https://example.org/threads"
[[claims]]
name = "twice"
source = "somebody"
claim = "It is _twice_, says `a_b`."
theirs = "2.0 ×"
row = { workload = "echo", workers = 2 }
at_least = 1.5
why = "half"
note = "Ours has a loop."
run = "scaling run"
[[claims]]
name = "never"
source = "somebody"
claim = "It is fast."
cannot = "nobody has that machine"
[[claims]]
name = "other"
source = "somebody"
claim = "It is elsewhere."
row = { workload = "fetch", workers = 1 }
at_least = 1.5
run = "scaling run --workload fetch"
"""


def claim(**fields: object) -> Claim:
    """A complete claim: two threads do at least 1.5 times the work of one."""
    common = {"name": "twice", "source": "somebody", "claim": "Twice.", "run": RUN}
    return msgspec.convert({**common, "row": ROW, "at_least": 1.5, **fields}, Claim)


def gain(point: float, low: float, high: float, n: int = 8, **fields: object) -> dict[str, object]:
    return {**GAIN, **figure("ratio", point, low, high, n), "builds_differ": "", **fields}


def decided(machine: Path, published: dict[str, object], /, **fields: object) -> Judged:
    publish(machine / "made", {"comparison": [published]})
    return judged(claim(**fields), machine)


@pytest.mark.parametrize(
    ("low", "high", "rule", "word", "reason"),
    [
        (1.5, 1.9, {}, "holds", "its whole interval is above 1.50"),
        (1.2, 1.4, {}, "does not hold", "its whole interval is below 1.50"),
        (1.4, 2.1, {"at_most": 2}, "inconclusive", "its interval has 1.50 and 2.00 inside"),
        (2.1, 2.4, {"at_most": 2}, "does not hold", "its whole interval is above 2.00"),
    ],
)
def test_the_whole_interval_decides(
    low: float, high: float, rule: dict[str, float], word: str, reason: str, tmp_path: Path
) -> None:
    found = decided(tmp_path, gain(low + 0.01, low, high), **rule)
    assert (found.word, found.reason) == (word, reason)


def test_of_several_studies_the_one_with_the_most_blocks_decides_and_a_void_one_nothing(
    tmp_path: Path,
) -> None:
    few, void = gain(1.7, 1.6, 1.8, n=5), gain(1.7, 1.6, 1.8, n=20, controls="void")
    found = decided(tmp_path / "a", few)
    assert (found.word, found.reason) == ("inconclusive", "5 blocks; an interval takes 6")
    found = decided(tmp_path / "b", void)
    assert (found.word, found.reason) == ("inconclusive", "the study is void: its controls fail")
    several = {"few": few, "many": gain(1.3, 1.2, 1.4, n=12), "void": void}
    for name, row in several.items():
        publish(tmp_path / "c" / name, {"comparison": [row]})
    found = judged(claim(), tmp_path / "c")
    assert found.evidence
    assert (found.evidence.study, found.word) == ("many", "does not hold")


def test_what_cannot_be_tested_says_why(tmp_path: Path) -> None:
    reasons: list[tuple[dict[str, object], str]] = [
        ({"row": {**ROW, "arm": "3.13t"}}, "not measured"),
        ({"row": {**ROW, "workers": 4}}, "it takes 4 cores; the machine has 2"),
        ({"cores": 12}, "it takes 12 cores; the machine has 2"),
    ]
    for fields, reason in reasons:
        found = decided(tmp_path, gain(1.7, 1.6, 1.8), **fields)
        assert (found.word, found.reason) == ("cannot be tested here", reason)
        assert found.evidence is None


def test_a_row_that_is_not_the_only_one_is_an_error(tmp_path: Path) -> None:
    rows = [gain(1.7, 1.6, 1.8, parameters={"tasks": n}) for n in (1, 2)]
    publish(tmp_path / "made", {"comparison": rows})
    with pytest.raises(UsageError, match=r"twice: made/comparison: 2 rows have .*; name tasks"):
        judged(claim(), tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "never"', 'name = "twice"', "twice: another claim has this name"),
        ('claim = "It is fast."', 'clam = "It"', r"`clam` - at `\$.claims\[1\]`"),
        ('source = "somebody"', 'source = "sombody"', "unknown source 'sombody'. Did you mean"),
        ("at_least = 1.5", "", "twice: expected row, run and at_least or at_most, or else cannot"),
    ],
)
def test_a_list_that_is_wrong_says_which_claim_and_field(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(LISTED.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsageError, match=f"claims.toml: .*{message}") as caught:
        listed(file)
    assert "\n" not in str(caught.value)


# --- the claims of the project -------------------------------------------------------------------

CLAIMS = listed().claims
TESTABLE = [claim for claim in CLAIMS if not claim.cannot]
FIELDS = ("workload", "parameters", "sizing", "loop", "arm", "model", "workers")


def planned(command: str, described: Description) -> tuple[Cell, ...]:
    """The cells that a `scaling run …` measures on 8 cores, without its controls.

    A build can run all that this interpreter can; another runtime only has a loop of its own.
    """
    program, verb, *arguments = shlex.split(command)
    assert (program, verb) == ("scaling", "run")
    asked = parsed([verb, *arguments])["asked"]
    study = study_from(asked.options, running_build="3.14t")
    other = msgspec.structs.replace(described, loops={OWN_LOOP: Offer()})
    arms = {arm: other if arm in RUNTIMES else described for arm in study.arms}
    topology = Topology(logical_cpus=16, physical_cores=8)
    return make_plan(replace(study, controls=False), arms, topology).cells


def cells_of(claim: Claim) -> list[dict[str, object]]:
    """The cells that a claim is about: those of its rows, and what its ratio is over."""
    cells = [{name: row[name] for name in FIELDS if name in row} for row in claim.rows]
    if claim.table == COMPARISON:
        over = {name: claim.row[f"over_{name}"] for name in FIELDS if f"over_{name}" in claim.row}
        is_gain = claim.row["question"] == "gain"
        cells.append(cells[0] | over | ({"workers": 1} if is_gain else {}))
    if claim.column in ("speedup", "efficiency"):
        cells.append(cells[0] | {"workers": 1})
    return cells


def is_named(cell: Cell, named: dict[str, object]) -> bool:
    """Whether a cell is planned as it is named; rates are found on the machine."""
    parameters = msgspec.convert(named.get("parameters", {}), dict[str, object])
    fields = {name: value for name, value in named.items() if name != "parameters"}
    return all(getattr(cell, name) == value for name, value in fields.items()) and all(
        cell.parameters.get(name) == value or (name == "rate_per_s" and value)
        for name, value in parameters.items()
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", dict.fromkeys(claim.run for claim in TESTABLE))
def test_a_command_measures_the_cells_of_its_claims(
    command: str, described_here: Description
) -> None:
    cells = planned(command, described_here)
    for each in (one for one in TESTABLE if one.run == command):
        for named in cells_of(each):
            assert any(is_named(cell, named) for cell in cells), f"{each.name}: {named}"


def test_every_claim_says_what_is_claimed_and_how_it_is_decided() -> None:
    for each in CLAIMS:
        assert each.claim.endswith("."), each.name
        assert each.theirs or each.source == "design", each.name
        assert each.why or each.cannot, each.name
    assert {each.source for each in CLAIMS} == listed().sources.keys()
