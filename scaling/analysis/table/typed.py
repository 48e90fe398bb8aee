"""Columns in their dtypes: from lists of values to a frame, and from frames to one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from scaling.analysis.table.columns import COLUMNS, THING, WORD

VALIDITIES = ["valid", "suspect", "invalid"]


def frame_of(columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """A frame with the columns of `COLUMNS`, in that order, each in the dtype that it states."""
    return pd.DataFrame({name: _values(name, columns[name]) for name in COLUMNS})


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Frames one below the other; categories that differ have made objects of words."""
    filled = [frame for frame in frames if len(frame)]
    if len(filled) < 2:
        return filled[0] if filled else frames[0]
    whole = pd.concat(filled, ignore_index=True)
    whole["validity"] = pd.Categorical(whole["validity"], VALIDITIES)
    return whole.astype({name: column.dtype for name, column in COLUMNS.items()})


def _values(name: str, values: Sequence[Any]) -> Any:
    dtype = COLUMNS[name].dtype
    if name == "validity":
        return pd.Categorical(values, VALIDITIES)
    if name == "at":
        times = pd.to_datetime(list(values), utc=True, errors="coerce", format="ISO8601")
        return times.astype(dtype)
    if dtype == WORD:
        return pd.Categorical(values)
    if dtype == THING:
        return pd.Series(values, dtype=object)
    if dtype == "boolean":
        return pd.array(values, dtype="boolean")
    return np.array(values, dtype)
