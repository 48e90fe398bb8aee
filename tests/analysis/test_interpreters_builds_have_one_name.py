"""A build has one name, and a wrong name gets a message that helps."""

import pytest

from scaling.base.errors import UsageError
from scaling.builds.interpreters import BUILDS, VERSIONS, parse_build


@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.name)
def test_a_name_is_read_back(build: object) -> None:
    assert parse_build(build.name) == build  # type: ignore[attr-defined]


def test_every_session_is_for_a_build() -> None:
    assert [parse_build(name).name for name in VERSIONS] == list(VERSIONS)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("3.14x", "3.14"), ("3.14.7", "3.14"), ("3.14.7t", "3.14t"), ("314t", "3.14t")],
)
def test_a_wrong_name_is_met_with_the_nearest(name: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"Did you mean {meant}\?") as caught:
        parse_build(name)
    assert "3.12, 3.13, 3.13t, 3.14" in str(caught.value)


def test_there_was_no_free_threaded_3_12() -> None:
    with pytest.raises(UsageError):
        parse_build("3.12t")


def test_nothing_near_nothing_meant() -> None:
    with pytest.raises(UsageError) as caught:
        parse_build("pypy")
    assert "Did you mean" not in str(caught.value)
