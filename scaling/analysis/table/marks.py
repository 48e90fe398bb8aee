"""Findings that take all runs of a cell, added to those of each run alone: outliers, allocator
states that are never averaged, load generators that were late.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags, Floats, Integers
from scaling.analysis.table.groups import CELL
from scaling.analysis.table.processes import MAPPING_FAULTS, allocator_state
from scaling.analysis.validity.finding import TOLERANCE, Finding, Severity
from scaling.analysis.validity.served import LATE, MOST_SLIP, SLIP, TOO_LATE, late_rows

# ----------------------------------------------------------------------------------------- outliers
# Outliers: runs whose throughput lies far from that of the others of their cell.
#
# The rule is hyperfine's (src/outlier_detection.rs): the modified z-score, a value's distance from
# the median in multiples of the median absolute deviation, after B. Iglewicz and D. Hoaglin, How to
# Detect and Handle Outliers (1993), with hyperfine's threshold of ten standard deviations. An
# outlier is labelled and stays in every figure: it hardly moves a median, and may be a finding
# itself.

# 1.4826 MAD are a standard deviation where the noise is normal.
THRESHOLD = 1.4826 * 10

# With fewer runs, two that happen to be close make another one look far off. With normal noise of
# 3 % that happens by chance in 9 of 100 cells of 3 runs, in 3 of 5 runs, 1 of 6, and 0.5 of 8.
FEWEST = 6


def outliers(values: Floats) -> Flags:
    """Flags of the outliers among a cell's values; shape in and out: (runs,).

    Values that are not finite are ignored. A value within the margin of the median is no outlier,
    even if all others are equal (a MAD of 0 or nearly so).
    """
    known = values[np.isfinite(values)]
    if len(known) < FEWEST:
        return np.zeros(len(values), np.bool_)
    middle = np.median(known)
    far = max(THRESHOLD * np.median(np.abs(known - middle)), TOLERANCE * abs(middle))
    return np.asarray(np.isfinite(values) & (np.abs(values - middle) > far))


def label_outliers(frame: pd.DataFrame) -> Flags:
    """The same for every valid run of a frame, cell by cell; shape: (rows,)."""
    labelled = np.zeros(len(frame), np.bool_)
    throughput = frame["throughput_per_s"].to_numpy()
    for rows in _by_cell(frame, frame["valid"].to_numpy()):
        labelled[rows] = outliers(throughput[rows])
    return labelled


def _by_cell(frame: pd.DataFrame, chosen: Flags) -> list[Integers]:
    """The rows of each cell, of those chosen, by position."""
    rows = np.flatnonzero(chosen)
    of_cells = frame[CELL].iloc[rows]  # not all hundred columns
    number = of_cells.groupby(CELL, observed=True, sort=False).ngroup().to_numpy()
    order = np.argsort(number, kind="stable")
    return np.split(rows[order], np.flatnonzero(np.diff(number[order])) + 1)


# ------------------------------------------------------------------------------------------- mixing
# Runs of one cell that were made in different allocator states, which are never averaged.
#
# Stock asyncio on glibc's malloc runs in one of two states, whose speeds differ by a factor of
# three to eight. In one, every receive buffer is mapped and unmapped, so each operation faults its
# pages in again; in the other, malloc keeps the memory. Minor faults per operation show which it
# was.

STATES_APART = 3.0  # ratio of faults between the states: one of them hardly faults at all


def odd_ones(faults: Floats) -> Flags:
    """Flags of a cell's runs in another state than most, by minor faults per operation.

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
    found = {}
    for rows in _by_cell(frame, suspects):
        for row in rows[odd_ones(faults[rows])]:
            state = allocator_state(float(faults[row]))
            rate = f"{faults[row]:.2f} minor faults per operation ({state})"
            detail = f"{rate}, unlike most runs of its cell"
            found[int(row)] = Finding("mixed-allocator-state", "invalid", detail)
    return found


# --------------------------------------------------------------------------------------------- late
# Runs of an open loop whose load generator sent late, by the latencies of their cell.
#
# A latency counts from the time at which a request was due, so the generator's own lateness (slip)
# is in it. On few cores workers and generator share them, and slip is a tenth of a latency or more.
#
# Slip is compared with the median latency of the cell, not with the run's own: other load makes
# both longer, so a disturbed run would pass where an undisturbed one fails. Slip of more than half
# that latency makes the run invalid. More than a tenth makes its latencies upper bounds: the run is
# used, and marked.

SLIPS = [f"slip_{name}_s" for name in SLIP]
LATENCIES = [f"latency_{name}_s" for name in SLIP]

# Of a run that is beyond several, the last one counts.
LIMITS: tuple[tuple[float, Severity, str], ...] = (
    (MOST_SLIP, "suspect", "; latencies are upper bounds"),
    (TOO_LATE, "invalid", ""),
)


def late_generators(frame: pd.DataFrame) -> Mapping[int, Finding]:
    """The finding for each valid row, by position, whose generator was late.

    In a closed loop nothing is due, so nothing slips.
    """
    slips = np.isfinite(frame[SLIPS[0]].to_numpy(np.float64))
    rows = np.flatnonzero(slips & frame["valid"].to_numpy(np.bool_))
    if not len(rows):
        return {}
    judged = frame[[*CELL, *SLIPS, *LATENCIES]].iloc[rows]
    cells = judged.groupby(CELL, observed=True)
    slip_s = judged[SLIPS].to_numpy(np.float64).T
    latency_s = cells[LATENCIES].transform("median").to_numpy(np.float64).T
    return {
        int(rows[place]): Finding(
            LATE, severity, f"the load generator sent late: {late} in the cell{then}"
        )
        for most, severity, then in LIMITS
        for place, late in late_rows(slip_s, latency_s, most)
    }


# -------------------------------------------------------------------------------------------- marks


def marked(frame: pd.DataFrame, found: Mapping[int, Finding]) -> pd.DataFrame:
    """The frame with the findings for some rows, by position."""
    if not found:
        return frame
    valid, validity = frame["valid"].to_numpy(copy=True), frame["validity"].tolist()
    reasons, details = frame["reasons"].tolist(), frame["details"].tolist()
    for row, finding in found.items():
        if finding.severity == "invalid":
            valid[row], validity[row] = False, finding.severity
            reasons[row] = (finding.word, *reasons[row])
            details[row] = (finding.detail, *details[row])
        else:
            validity[row] = finding.severity if valid[row] else validity[row]
            reasons[row] = (*reasons[row], finding.word)
            details[row] = (*details[row], finding.detail)
    return frame.assign(
        valid=valid,
        validity=pd.Categorical(validity, frame["validity"].cat.categories),
        reasons=pd.Series(reasons, frame.index, dtype=object),
        details=pd.Series(details, frame.index, dtype=object),
    )
