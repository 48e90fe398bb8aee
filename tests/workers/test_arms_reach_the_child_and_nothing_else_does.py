"""An arm's settings reach a child and take effect, and nothing of a shell comes with them."""

import itertools
from functools import cache

import pytest

from scaling.base.errors import UsageError
from scaling.builds.arms import Arm, parse_arm, parse_arms, switched
from scaling.builds.cpython import BUILDS, parse_build
from scaling.builds.settings import REMEDIES, SETTINGS
from scaling.builds.settings.interpreter import NOT_IN_CPYTHON
from scaling.journal.record import ArmRecord, Cell, Machine, RunLine, StudyLine
from tests.support.children import FREE_THREADED, measured
from tests.support.cli import BUILD

LEAKS = {
    "PYTHON_GIL": "1",
    "PYTHONMALLOC": "malloc",
    "PYTHONPATH": "somewhere",
    "PYTHONASYNCIODEBUG": "1",
    "MALLOC_ARENA_MAX": "1",
    "MIMALLOC_PURGE_DELAY": "0",
    "GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=1",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "somewhere",
}


def every_arm() -> list[Arm]:
    """No setting, one, two and all that fit, on every build."""
    found = []
    for build in BUILDS:
        fitting = [name for name, setting in SETTINGS.items() if not setting.misfit(build)]
        found += [Arm(build), Arm(build, tuple(fitting))]
        found += [Arm(build, pair) for pair in itertools.combinations(fitting, 2)]
        found += [Arm(build, (name,)) for name in fitting]
    return found


@pytest.mark.one_build
def test_every_arm_is_found_again_by_its_name_in_whatever_order_settings_are_typed() -> None:
    for arm in every_arm():
        assert parse_arm(arm.name) == arm
    assert parse_arms(["3.14t+nogc+gil", " 3.14t+gil+nogc"]) == (parse_arm("3.14t+gil+nogc"),)


@pytest.mark.one_build
def test_only_the_settings_of_the_arm_are_left_of_what_a_shell_says() -> None:
    for arm in every_arm():
        environment = arm.child_environment({"PATH": "/bin", "HOME": "/h"} | LEAKS)
        settings = [SETTINGS[name] for name in arm.settings]
        said = {key: value for each in settings for key, value in each.environment.items()}
        preloaded = environment.pop("LD_PRELOAD", None)
        assert (preloaded is not None) == any(each.preload for each in settings)
        assert environment == {"PATH": "/bin", "HOME": "/h"} | said
        assert environment.get("PYTHON_GIL") in (None, "1")  # 0 would hide a flip


@pytest.mark.one_build
def test_switches_and_the_collector_are_asked_for_by_the_cell_and_expected_back() -> None:
    both = {"PYTHONASYNCIOUSEIOURING": "1", "asyncio.events._USE_NEW_SCHEDULER": True}
    arm = parse_arm("3.13+new-scheduler+io-uring")
    assert arm.name == "3.13+io-uring+new-scheduler"
    assert (arm.cell_fields, arm.expected.switches) == ({"switches": both}, both)
    assert arm.child_environment({}) == {"PYTHONASYNCIOUSEIOURING": "1"}
    rare = parse_arm("3.14t+gc50k")
    assert rare.cell_fields == {"gc_threshold": 50_000}
    assert (rare.expected.gc_enabled, rare.expected.gc_threshold) == (True, 50_000)
    assert parse_arm("3.14+nogc").cell_fields == {"gc": False}
    assert parse_arm("3.14").cell_fields == {}


@pytest.mark.one_build
def test_what_a_switch_is_is_printed_once() -> None:
    arms = ["3.13", "3.13+io-uring", "3.13t+gil+io-uring", "go", "9.9+later"]
    (message,) = switched(arms)
    assert message == f"+io-uring: {NOT_IN_CPYTHON}."
    assert switched(["3.14", "3.14t+gil", "3.14+nogc"]) == []


@pytest.mark.one_build
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3.13+iouring", "Did you mean 'io-uring'"),
        ("3.14+gil", "3.14 always has its GIL"),
        ("3.14t+mimalloc", "3.14t always uses mimalloc"),
        ("3.12+mimalloc", "3.12 has no mimalloc"),
        ("3.14t+gil+gil", "given twice"),
    ],
)
def test_a_wrong_arm_is_refused_with_what_was_meant(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=r"^arm ") as caught:
        parse_arm(text)
    assert said in str(caught.value)


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


def echo(arm: Arm, **parameters: str) -> Cell:
    return Cell(
        workload="echo",
        parameters=parameters,
        loop="asyncio",
        arm=arm.name,
        model="threads",
        workers=2,
    )


@cache
def run(arm: Arm, tls: str = "off") -> RunLine:
    document = {
        "workload": "echo",
        "workers": 2,
        "parameters": {"tls": tls, **arm.parameters},
        **arm.cell_fields,
    }
    record = measured(document, **arm.child_environment({}))
    return RunLine(cell=echo(arm), outcome="measured", block=0, position=0, record=record)


def lost(line: RunLine, arm: Arm) -> list[str]:
    """What of the arm's settings the run did not have."""
    from scaling.analysis.table.load import rows_of  # with pandas: most of these do without
    from scaling.analysis.validity.promises import settings_lost

    arms = {line.cell.arm: ArmRecord(build=arm.name, expected=arm.expected)}
    study = StudyLine(schema=1, name="x", machine=Machine(id="x"), arms=arms)
    return [finding.detail for _, finding in settings_lost(rows_of([line], study))]


@pytest.mark.slow
def test_all_that_go_together_take_effect_together() -> None:
    names = [name for name in ALL if name not in (*APART, *OF_OTHERS)]
    arm = arm_with(*names)
    assert arm.unfit(echo(arm, api="protocol")) is None
    assert len(names) >= 7
    assert lost(run(arm), arm) == []


@pytest.mark.slow
def test_another_loop_and_protocol_and_contexts_of_their_own_take_effect() -> None:
    arm = arm_with(*APART)
    assert arm.unfit(echo(arm, api="protocol", tls="shared")) is None
    assert lost(run(arm, tls="shared"), arm) == []


@pytest.mark.slow
@pytest.mark.one_build  # the free-threaded build has its own allocator
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs(name)) for name in PRELOADED]
)
def test_another_allocator_takes_effect(name: str) -> None:
    arm = arm_with(name)
    assert lost(run(arm), arm) == []


@pytest.mark.slow
def test_a_setting_that_did_not_take_effect_is_found() -> None:
    assert lost(run(HERE), HERE) == []
    for name in (*PRELOADED, *(name for name in ALL if name not in OF_OTHERS)):
        (found,) = lost(run(HERE), arm_with(name))
        assert "asks for" in found, name
