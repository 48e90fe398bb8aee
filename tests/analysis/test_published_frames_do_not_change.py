"""Every version loads the published journals into the same frames.

`published_frames.json` has a digest of each column over the journals that it lists, made before the
table package was rewritten for speed (2026-11-22); `details` has none, because these are sentences
for people. A column that changes on purpose gets a new digest, and the commit says why.
"""

import hashlib
import json
from pathlib import Path

import pandas as pd
import pytest

from tests.support.published import FOLDERS, name_of, read

KNOWN = json.loads(Path(__file__).with_name("published_frames.json").read_text(encoding="utf-8"))
DIGITS = 8  # machines round differently in the last ones


def digest(frames: dict[str, pd.DataFrame], column: str) -> str:
    """Of the column in all frames, by the order of their names."""
    found = hashlib.sha256()
    for name in sorted(frames):
        texts = [_text(value) for value in frames[name][column]]
        found.update("\n".join((name, *texts)).encode())
    return found.hexdigest()[:16]


def _text(value: object) -> str:
    if isinstance(value, dict):
        return str({name: _text(each) for name, each in value.items()})
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


@pytest.fixture(scope="module")
def frames() -> dict[str, pd.DataFrame]:
    listed = [folder for folder in FOLDERS if name_of(folder) in KNOWN["journals"]]
    assert len(listed) == len(KNOWN["journals"])
    return {name_of(folder): read(folder).frame for folder in listed}


@pytest.mark.parametrize("column", KNOWN["columns"])
def test_a_column_has_the_values_it_had(frames: dict[str, pd.DataFrame], column: str) -> None:
    assert digest(frames, column) == KNOWN["columns"][column]


def test_a_changed_value_is_noticed(frames: dict[str, pd.DataFrame]) -> None:
    name, frame = next(iter(frames.items()))
    column = "throughput_per_s"
    changed = frame.assign(**{column: frame[column] * (1 + 1e-6)})
    assert digest({**frames, name: changed}, column) != digest(frames, column)
