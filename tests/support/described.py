"""What environments can run, described once in a test run: that takes two seconds of a core."""

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from scaling.journal.record import Description, decode_description
from scaling.run.prepare import describe
from tests.support.children import environment
from tests.support.once import made_once


def described(
    factory: pytest.TempPathFactory,
    python: str = sys.executable,
    variables: Mapping[str, str] | None = None,
) -> Description:
    """The answer of an environment; every process that asks for the same one gets the same."""
    given = environment() if variables is None else variables
    # Tests find our sources in folders that are made each time.
    settings = sorted((name, given[name]) for name in given if name.startswith("PYTHON"))
    settings = [each for each in settings if each[0] != "PYTHONPATH"]
    key = hashlib.sha256(repr((python, settings)).encode()).hexdigest()[:16]

    def ask(folder: Path) -> None:
        (folder / "description.json").write_bytes(msgspec.json.encode(describe(python, given)))

    folder = made_once(factory, f"described-{key}", ask)
    return decode_description((folder / "description.json").read_bytes())
