"""Runs of one cell that were made in different allocator states, which are never averaged.

Stock asyncio on glibc's malloc runs in one of two states, whose speeds differ by a factor of three
to eight. In one, every receive buffer is mapped and unmapped, so each operation faults its pages in
again; in the other, malloc keeps the memory. Minor faults per operation show which it was.
"""

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags, Floats
from scaling.analysis.table.groups import CELL
from scaling.analysis.table.processes import MAPPING_FAULTS, allocator_state
from scaling.analysis.validity import Finding

STATES_APART = 3.0  # ratio of faults between the states: one of them hardly faults at all


def odd_ones(faults: Floats) -> Flags:
    """Which runs of a cell, by minor faults per operation, were in another state than most.

    Shape in and out: (runs,). All False where the cell is of one state. On a tie the state that
    a fresh process has counts, the faulting one. Faults that are not known (NaN) are of no state.
    """
    odd = np.zeros(len(faults), dtype=np.bool_)
    known = np.flatnonzero(np.isfinite(faults))
    if len(known) < 2:
        return odd
    order = known[np.argsort(faults[known], kind="stable")]
    gaps = np.diff(faults[order])
    cut = int(np.argmax(gaps)) + 1
    below, above = order[:cut], order[cut:]
    lower, upper = faults[below[-1]], faults[above[0]]
    if upper - lower >= MAPPING_FAULTS and upper >= STATES_APART * lower:
        odd[below if len(below) <= len(above) else above] = True
    return odd


def mixed_states(frame: pd.DataFrame) -> dict[int, Finding]:
    """The finding for each row (by position) that was in another state than most of its cell.

    mimalloc, which has no such states, is skipped; so are runs that are invalid for other reasons.
    """
    faults = frame["minor_faults_per_op"].to_numpy()
    suspects = frame["valid"].to_numpy() & np.asarray(frame["allocator"] != "mimalloc")
    known = faults[suspects & np.isfinite(faults)]
    if not len(known) or known.max() - known.min() < MAPPING_FAULTS:
        return {}  # no cell can have two states: grouping takes longer than all else here
    positions = pd.Series(np.arange(len(frame)), index=frame.index)[suspects]
    found = {}
    for rows in positions.groupby([frame[name][suspects] for name in CELL], observed=True):
        places = rows[1].to_numpy()
        for row in places[odd_ones(faults[places])]:
            state = allocator_state(float(faults[row]))
            rate = f"{faults[row]:.2f} minor faults per operation ({state})"
            detail = f"{rate}, unlike most runs of its cell"
            found[int(row)] = Finding("mixed-allocator-state", "invalid", detail)
    return found
