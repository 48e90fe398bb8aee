"""Simulated runs whose noise has the components that the published journals have.

The logarithm of a run's throughput varies with the machine (slowly, so that neighbours share it),
with the process (interned strings, addresses, hash seeds) and inside the window.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from scaling.journal.record import Cell
from scaling.study.plan.order import PlannedRun, Slot, one_block


@dataclass(frozen=True)
class Noise:
    """Variances of the log throughput, in %², and the time constant of the machine's part.

    The defaults are those of published journals of network workloads on a Xeon: runs
    of 2 s scatter by 4.5 % (20 %²), neighbours 2.6 s apart correlate by 0.35 and those 13 s apart
    by 0.2, and means over 1 s inside a run scatter by 2.5 %. A window of w seconds has `inside`
    times w ** -`fading` of it: 4.1 % over 0.1 s.
    """

    machine: float = 8.0
    lasts_s: float = 20.0
    process: float = 7.3
    inside: float = 6.3
    fading: float = 0.43


@dataclass(frozen=True)
class Design:
    """How a study is measured: seconds of window and warm-up."""

    window_s: float
    warmup_s: float

    @property
    def run_s(self) -> float:
        """Of a whole run."""
        return self.window_s + self.warmup_s + START_S


START_S = 0.27  # to start and close a child, on average
AFTER = Design(0.4, 0.1)


def compare_slots() -> list[Slot]:
    """Slots as those of the study `compare`: eight stand at each N, and there is an A/A pair."""
    found = [
        Slot(Cell(workload="echo", loop="asyncio", arm=arm, model=model, workers=n))
        for n in (1, 2, 4)
        for arm in ("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t")
        for model in ("threads", "processes")
    ]
    return [*found, Slot(found[8].cell, 1)]


def simulated(
    slots: Sequence[Slot], blocks: int, design: Design, noise: Noise, seed: int
) -> list[tuple[PlannedRun, float]]:
    """Every run of so many blocks in its order, with its log throughput in %."""
    rng = np.random.default_rng(seed)
    runs = [run for block in range(blocks) for run in one_block(slots, block, seed)]
    values = _machine(len(runs), design.run_s, noise, rng)
    own = noise.process + noise.inside * design.window_s**-noise.fading
    values += rng.normal(0, np.sqrt(own), len(runs))
    return list(zip(runs, values.tolist(), strict=True))


def _machine(runs: int, run_s: float, noise: Noise, rng: np.random.Generator) -> np.ndarray:
    """What the machine does to each run: an AR(1) process in time."""
    kept = np.exp(-run_s / noise.lasts_s)
    steps = rng.normal(0, np.sqrt(noise.machine), runs)
    steps[1:] *= np.sqrt(1 - kept**2)
    return np.asarray(lfilter([1.0], [1.0, -kept], steps))
