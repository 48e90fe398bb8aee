"""An arm's settings reach a child, and nothing of the user's shell comes with them."""

import itertools
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from scaling.base.errors import UsageError
from scaling.builds.arms import Arm, parse_arm, parse_arms, switched
from scaling.builds.cpython import BUILDS
from scaling.builds.settings import SETTINGS
from scaling.builds.settings.interpreter import NOT_IN_CPYTHON
from scaling.journal.record import ReadBack

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
HERE = f"3.{sys.version_info.minor}{'t' if FREE_THREADED else ''}"
ARMS_HERE = [HERE, f"{HERE}+gil" if FREE_THREADED else f"{HERE}+mimalloc"]

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


def test_every_arm_is_found_again_by_its_name() -> None:
    for arm in every_arm():
        assert parse_arm(arm.name) == arm


def test_the_order_in_which_settings_are_typed_makes_no_other_arm() -> None:
    assert parse_arms(["3.14t+nogc+gil", " 3.14t+gil+nogc"]) == (parse_arm("3.14t+gil+nogc"),)


def test_only_the_settings_of_the_arm_are_left_of_what_a_shell_says() -> None:
    for arm in every_arm():
        environment = arm.child_environment({"PATH": "/bin", "HOME": "/h"} | LEAKS)
        settings = [SETTINGS[name] for name in arm.settings]
        said = {key: value for each in settings for key, value in each.environment.items()}
        preloaded = environment.pop("LD_PRELOAD", None)
        assert (preloaded is not None) == any(each.preload for each in settings)
        assert environment == {"PATH": "/bin", "HOME": "/h"} | said
        assert environment.get("PYTHON_GIL") in (None, "1")  # 0 would hide a flip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("3.14", ReadBack(gil_enabled=True, allocator="pymalloc", gc_enabled=True)),
        ("3.14+mimalloc", ReadBack(gil_enabled=True, allocator="mimalloc", gc_enabled=True)),
        ("3.14t+gil", ReadBack(gil_enabled=True, allocator="mimalloc", gc_enabled=True)),
        ("3.14t", ReadBack(gil_enabled=False, allocator="mimalloc", gc_enabled=True)),
        ("3.14t+nogc", ReadBack(gil_enabled=False, allocator="mimalloc", gc_enabled=False)),
    ],
)
def test_each_rung_of_the_ladder_says_what_must_be_read_back(name: str, expected: ReadBack) -> None:
    assert parse_arm(name).expected == expected


def test_the_collector_is_set_by_the_cell() -> None:
    rare = parse_arm("3.14t+gc50k")
    assert rare.cell_fields == {"gc_threshold": 50_000}
    assert (rare.expected.gc_enabled, rare.expected.gc_threshold) == (True, 50_000)
    assert parse_arm("3.14+nogc").cell_fields == {"gc": False}
    assert parse_arm("3.14").cell_fields == {}


def test_switches_are_asked_for_by_the_cell_and_expected_back() -> None:
    both = {"PYTHONASYNCIOUSEIOURING": "1", "asyncio.events._USE_NEW_SCHEDULER": True}
    arm = parse_arm("3.13+new-scheduler+io-uring")
    assert arm.name == "3.13+io-uring+new-scheduler"
    assert arm.cell_fields == {"switches": both}
    assert arm.expected.switches == both
    assert arm.child_environment({}) == {"PYTHONASYNCIOUSEIOURING": "1"}
    shell = {"PYTHONASYNCIOUSEIOURING": "1"}
    assert parse_arm("3.13+new-scheduler").child_environment(shell) == {}


def test_every_variable_that_is_a_switch_is_in_the_environment() -> None:
    for setting in SETTINGS.values():
        variables = {k: v for k, v in setting.switches.items() if k.startswith(("PYTHON", "MI"))}
        assert variables.items() <= dict(setting.environment).items()


def test_what_a_switch_is_is_printed_once() -> None:
    arms = ["3.13", "3.13+io-uring", "3.13t+gil+io-uring", "go", "9.9+later"]
    (message,) = switched(arms)
    assert message == f"+io-uring: {NOT_IN_CPYTHON}."
    assert switched(["3.14", "3.14t+gil", "3.14+nogc"]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS_HERE)
def test_a_real_child_reads_back_what_its_arm_promises(name: str) -> None:
    arm = parse_arm(name)
    environment = arm.child_environment(dict(os.environ) | LEAKS)
    root = Path(__file__).parents[2]
    ask = (
        f"import sys; sys.path.insert(0, {str(root)!r})\n"
        "from workers.readback.process import allocator\n"
        "print(sys._is_gil_enabled(), allocator())"
    )
    child = subprocess.run(
        [sys.executable, "-c", ask], env=environment, capture_output=True, text=True, check=True
    )
    assert child.stdout.split() == [str(arm.expected.gil_enabled), arm.expected.allocator]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3.14x", "Did you mean 3.14"),
        ("3.14.7t", "Did you mean 3.14t"),
        ("python", "no build 'python'"),
        ("", "no build ''"),
        ("3.12t", "no build '3.12t'"),
        ("3.14t+gli", "Did you mean 'gil'"),
        ("3.13+iouring", "Did you mean 'io-uring'"),
        ("3.14+minimalloc", "Did you mean 'mimalloc'"),
        ("3.14t+", "unknown setting ''"),
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
