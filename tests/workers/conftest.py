"""Fixtures that several files of these tests share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scaling.run.services import Services
from tests.support.children import environment
from tests.support.once import made_once
from tests.support.servers import left_in


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where services have their folders; paths of sockets must be short."""
    return tmp_path_factory.mktemp("s")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where databases are kept: one of some rows is made once, for all files and processes."""
    return made_once(tmp_path_factory, "databases", lambda _: None)


@pytest.fixture(scope="module")
def services(place: Path, kept: Path) -> Iterator[Services]:
    """Services that runs of a file share, and of which nothing is left in the end."""
    variables = environment(TMPDIR=str(place))
    with Services(sys.executable, variables, data=kept) as running:
        yield running
    assert left_in(place) == []
