"""Every setting that can be had here takes effect in a real child; one that does not is found."""

from functools import cache

import numpy as np
import pytest

from scaling.analysis.validity import Batch, Expectation
from scaling.analysis.validity.finding import processes
from scaling.analysis.validity.promises import settings_lost
from scaling.builds.arms import Arm, parse_arm
from scaling.builds.cpython import parse_build
from scaling.builds.settings import REMEDIES
from scaling.builds.settings.setting import Place
from scaling.journal.record import Cell, Machine, RunLine, StudyLine
from tests.support.children import FREE_THREADED, measured
from tests.support.cli import BUILD

pytestmark = pytest.mark.slow

SHARED_TLS = {"api": "protocol", "tls": "shared"}
HERE = parse_arm(BUILD)
# Python's own allocator on the free-threaded build leaves nothing to another one.
PRELOADED = [name for name, each in REMEDIES.items() if each.preload and not FREE_THREADED]
ALL = [
    name
    for name, setting in REMEDIES.items()
    if not setting.preload and not setting.misfit(parse_build(BUILD))
]
# They take the place of what others set, and so are measured in a child of their own.
APART = ("buffered", "uvloop", "own-ssl")
# They are not for the workload that is measured here.
OF_OTHERS = ("own-app", "to-thread", "columns", "own-data", "deferred-data")


def arm_with(*names: str) -> Arm:
    return parse_arm("+".join([BUILD, *names]))


@cache
def run(arm: Arm, tls: str = "off") -> RunLine:
    cell = Cell(workload="echo", loop="asyncio", arm=arm.name, model="threads", workers=2)
    document = {
        "workload": "echo",
        "workers": 2,
        "parameters": {"tls": tls, **arm.parameters},
        **arm.cell_fields,
    }
    record = measured(document, **arm.child_environment({}))
    return RunLine(cell=cell, outcome="measured", block=0, position=0, record=record)


def lost(line: RunLine, arm: Arm) -> list[str]:
    """What of the arm's settings the run did not have."""
    batch = Batch(
        study=StudyLine(schema=1, name="x", machine=Machine(id="x")),
        runs=[line],
        processes=[list(processes(line))],
        expected=[Expectation(arm.expected)],
        figures={},
        measured=np.array([True]),
    )
    return [finding.detail for _, finding in settings_lost(batch)]


def test_all_that_go_together_take_effect_together() -> None:
    names = [name for name in ALL if name not in (*APART, *OF_OTHERS)]
    arm = arm_with(*names)
    place = Place(workload="echo", parameters={"api": "protocol"}, model="threads", loop="asyncio")
    assert arm.unfit(place) is None
    assert len(names) >= 7
    assert lost(run(arm), arm) == []


def test_another_loop_and_protocol_and_contexts_of_their_own_take_effect() -> None:
    arm = arm_with(*APART)
    place = Place(workload="echo", parameters=SHARED_TLS, model="threads", loop="asyncio")
    assert arm.unfit(place) is None
    assert lost(run(arm, tls="shared"), arm) == []


@pytest.mark.one_build  # the free-threaded build has its own allocator
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs(name)) for name in PRELOADED]
)
def test_another_allocator_takes_effect(name: str) -> None:
    arm = arm_with(name)
    assert lost(run(arm), arm) == []


@pytest.mark.parametrize("name", [*PRELOADED, *(name for name in ALL if name not in OF_OTHERS)])
def test_a_setting_that_did_not_take_effect_is_found(name: str) -> None:
    assert lost(run(HERE), HERE) == []
    (found,) = lost(run(HERE), arm_with(name))
    assert "asks for" in found


def test_the_control_of_deferred_counts_meets_functions_that_have_them() -> None:
    """Read back as true only if there were such functions, and the call changed none."""
    if FREE_THREADED:
        (switch,) = (
            each
            for each in run(arm_with("deferred")).record.process.switches  # type: ignore[union-attr]
        )
        assert switch.value is True
    else:
        assert "GIL" in str(REMEDIES["deferred"].misfit(parse_build(BUILD)))
