"""Arms whose builds differ in more than what is compared are flagged wherever they are compared."""

from typing import Any

import msgspec
import pytest

from scaling.analysis.comparison.build_differences import build_differences
from scaling.journal.record import ArmRecord, Environment, StudyLine
from scaling.report.tables.comparison import doubts
from tests.support.fabricate import Made, arm, study_line, with_

LADDER = ("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t")


def study(change: dict[str, Any], arms: tuple[str, ...] = LADDER) -> StudyLine:
    """A study of builds that are alike but for a change to the free-threaded ones."""

    def changed(name: str) -> ArmRecord:
        made = arm(name)
        return with_(made, **change) if made.build.endswith("t") else made

    return msgspec.structs.replace(
        study_line(Made(arms=arms)), arms={name: changed(name) for name in arms}
    )


def test_what_an_arm_is_meant_to_differ_in_is_no_fault() -> None:
    assert build_differences(study({})) == []
    assert doubts(study({})) == []


@pytest.mark.parametrize(
    ("change", "fact", "told"),
    [
        ({"compiler": "Clang 19"}, "compiler", "GCC 12.2.0 (3.14, 3.14+mimalloc), Clang 19"),
        ({"pgo": True}, "PGO", "off (3.14, 3.14+mimalloc), on (3.14t+gil, 3.14t)"),
        ({"lto": True}, "LTO", "off"),
        ({"openssl": "OpenSSL 3.5.1"}, "OpenSSL", "OpenSSL 3.5.1 (3.14t+gil, 3.14t)"),
        ({"libc": "musl 1.2"}, "libc", "musl 1.2"),
        ({"version": "3.14.6"}, "version of 3.14", "3.14.6 (3.14t+gil, 3.14t)"),
        ({"config_args": ["--disable-gil", "-O3"]}, "configure options", "none"),
    ],
)
def test_each_difference_is_reported_with_its_arms(
    change: dict[str, Any], fact: str, told: str
) -> None:
    line = study({f"description__python__{name}": value for name, value in change.items()})
    (found,) = build_differences(line)
    assert found.fact == fact
    assert told in str(found)
    (sentence,) = doubts(line)
    assert str(found) in sentence


def test_packages_are_part_of_it() -> None:
    packages = {"aiohttp": "3.14.5"}
    (found,) = build_differences(study({"description__packages": packages}))
    assert str(found) == "uvloop: 0.23.0 (3.14, 3.14+mimalloc), absent (3.14t+gil, 3.14t)"


def test_what_is_not_known_is_not_compared_but_an_unknown_arm_is_listed() -> None:
    assert build_differences(study({"description__python__compiler": None})) == []
    (found,) = build_differences(study({"description": None}))
    assert str(found) == "build: not known (3.14t+gil, 3.14t)"


def test_two_versions_may_be_compared() -> None:
    line = study_line(Made(arms=("3.13", "3.14")))
    older = msgspec.structs.replace(
        line.arms["3.13"], description=Environment(python=_version("3.13.9"))
    )
    found = build_differences(msgspec.structs.replace(line, arms={**line.arms, "3.13": older}))
    assert [each.fact for each in found] == ["aiohttp", "uvloop"]


def _version(version: str) -> Any:
    described = arm("3.13").description
    assert described is not None
    return msgspec.structs.replace(described.python, version=version)
