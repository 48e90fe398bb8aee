"""Fixtures that several files of these tests share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scaling.run.services import Services
from tests.support.children import environment
from tests.support.servers import left_in


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where services have their folders; paths of sockets must be short."""
    return tmp_path_factory.mktemp("s")


@pytest.fixture(scope="module")
def services(place: Path) -> Iterator[Services]:
    """Services that runs of a file share, and of which nothing is left in the end."""
    variables = environment(TMPDIR=str(place))
    with Services(sys.executable, variables, data=place / "kept") as running:
        yield running
    assert left_in(place) == []
