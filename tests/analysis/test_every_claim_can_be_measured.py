"""The claims that come with the project name cells that exist, and commands that measure them."""

import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.main import get_command

from scaling.analysis.claims.claim import Claim
from scaling.analysis.claims.reading import read_claims
from scaling.analysis.lookup.cells import OVER_ONE, SLOPE, Fields, differing, text
from scaling.analysis.lookup.figure import sides
from scaling.analysis.table.columns import COLUMNS
from scaling.builds.runtimes.runtime import OWN_LOOP, RUNTIMES
from scaling.cli.program import app
from scaling.cli.study_options import asked_from
from scaling.journal.record import Cell, Description, Offer
from scaling.machine.topology import Topology
from scaling.study.combine import study_from
from scaling.study.plan.cells import make_plan

HERE = Path(__file__).parents[2]
CLAIMS = read_claims()
TESTABLE = [claim for claim in CLAIMS.claims if not claim.cannot]
WORKED_OUT = (*OVER_ONE, "s_per_op", "memory_mib", SLOPE)


@pytest.fixture(scope="session")
def planned(described_here: Description) -> Callable[[str], list[Cell]]:
    """Gives the cells that a `scaling run …` measures on 8 cores, without its controls.

    A build can run all that this interpreter can; another runtime only has a loop of its own.
    """
    other = replace(described_here, loops={OWN_LOOP: Offer()})

    @cache
    def cells(command: str) -> list[Cell]:
        program, verb, *arguments = shlex.split(command)
        assert (program, verb) == ("scaling", "run")
        commands = get_command(app).commands  # type: ignore[attr-defined]
        given = commands[verb].make_context(verb, arguments).params
        of_a_study = {each.name for each in commands["plan"].params} - {"output"}
        asked = asked_from({name: given[name] for name in of_a_study})
        study = study_from(asked.options, running_build="3.14t")
        arms = {arm: other if arm in RUNTIMES else described_here for arm in study.arms}
        made = make_plan(
            replace(study, controls=False), arms, Topology(logical_cpus=16, physical_cores=8)
        )
        return list(made.cells)

    return cells


def names(claim: Claim) -> list[Fields]:
    """Every cell that the claim's figure is worked out of."""
    over_one = [each for each in claim.figures if each.measure in OVER_ONE]
    return [*claim.cells, *({**cell, "workers": 1} for each in over_one for cell in sides(each))]


@pytest.mark.slow
@pytest.mark.parametrize("claim", TESTABLE, ids=lambda claim: claim.name)
def test_its_command_measures_its_cells(claim: Claim, planned: Callable[[str], list[Cell]]) -> None:
    for name in names(claim):
        meant = {cell for cell in planned(claim.run) if not differing(cell, name)}
        assert len(meant) == 1, f"{len(meant)} cells are {text(name)}"


@pytest.mark.parametrize("claim", TESTABLE, ids=lambda claim: claim.name)
def test_its_measure_is_that_of_its_workload(claim: Claim) -> None:
    workload = claim.cells[0]["workload"]
    told = (HERE / "workers" / "workloads" / f"{workload}.py").read_text("utf-8")
    for measure in {each.measure for each in claim.figures}:
        assert f'"{measure}"' in told or measure in COLUMNS or measure in WORKED_OUT


def test_every_claim_says_what_is_claimed_and_how_it_is_decided() -> None:
    for claim in CLAIMS.claims:
        assert claim.claim.endswith("."), claim.name
        assert claim.theirs or claim.source == "design", claim.name
        assert claim.why or claim.cannot, claim.name


def test_every_source_has_a_claim() -> None:
    assert [source.title for source, _ in CLAIMS.by_source] == [
        source.title for source in CLAIMS.sources.values()
    ]
