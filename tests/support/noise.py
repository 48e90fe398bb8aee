"""Simulated runs whose noise has the components that the published journals have.

The logarithm of a run's throughput varies with the machine (slowly, so that neighbours share it),
with the process (interned strings, addresses, hash seeds) and inside the window.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace
from scipy.signal import lfilter

from scaling.analysis.statistics.intervals import both_ends
from scaling.journal.record import Cell
from scaling.study.plan.order import LEVELS, Levels, PlannedRun, Slot, one_block

# Orders that were tried, and that today's is compared with.
SHUFFLED: Levels = ()  # all cells of a block as one
BESIDE: Levels = (*LEVELS[:-1], lambda slot: str(slot.cell.workers))  # A/A pairs inside their N


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
    """How a study is measured: seconds of window and warm-up, and the order of its runs."""

    window_s: float
    warmup_s: float
    levels: Levels = LEVELS

    @property
    def run_s(self) -> float:
        """Of a whole run."""
        return self.window_s + self.warmup_s + START_S


NETWORK = ("echo", "stream", "scrape")
START_S = 0.27  # to start and close a child, on average
BEFORE = Design(2.0, 0.3, SHUFFLED)
AFTER = Design(0.4, 0.1)


def scale_slots() -> list[Slot]:
    """What a block of the study `scale` has on two cores, its A/A pairs included."""

    def slot(workload: str, loop: str, n: int, repeat: int = 0) -> Slot:
        cell = Cell(workload=workload, loop=loop, arm="3.14t", model="threads", workers=n)
        return Slot(cell, repeat)

    loops = {"compute": ["asyncio"], "shared": ["asyncio"]}
    found = []
    for workload in ("compute", "shared", *NETWORK):
        for loop in loops.get(workload, ["asyncio", "uvloop"]):
            found += [slot(workload, loop, n) for n in (1, 2, 4)]
        found.append(slot(workload, "asyncio", 2, 1))
    return found


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
    runs = [
        run
        for block in range(blocks)
        for run in one_block(slots, block, seed, levels=design.levels)
    ]
    values = _machine(len(runs), design.run_s, noise, rng)
    own = noise.process + noise.inside * design.window_s**-noise.fading
    values += rng.normal(0, np.sqrt(own), len(runs))
    return list(zip(runs, values.tolist(), strict=True))


def scatters(
    slots: Sequence[Slot], blocks: int, design: Design, noise: Noise, seed: int
) -> tuple[float, float]:
    """How much a log ratio varies over blocks, root mean square in %: of an A/A pair, of a gain.

    Gains are of N = 2 over 1.
    """
    runs = simulated(slots, blocks, design, noise, seed)
    values = {run.key: value for run, value in runs}
    pairs, gains = [], []
    for run, value in runs:
        if run.repeat:
            pairs.append(value - values[run.block, run.cell, 0])
        elif run.cell.workers == 2:
            gains.append(value - values[run.block, replace(run.cell, workers=1), 0])
    return _root_mean_square(pairs), _root_mean_square(gains)


def half_widths(design: Design, budget_s: float, noise: Noise, seed: int) -> list[float]:
    """Relative half-widths of the twelve gains of the network workloads, after `budget_s`."""
    slots = scale_slots()
    blocks = int(budget_s / design.run_s / len(slots))
    values = {run.key: value for run, value in simulated(slots, blocks, design, noise, seed)}
    cells = [slot.cell for slot in slots if slot.cell.workload in NETWORK and not slot.repeat]
    gains = np.array(
        [
            [
                values[block, cell, 0] - values[block, replace(cell, workers=1), 0]
                for cell in cells
                if cell.workers > 1
            ]
            for block in range(blocks)
        ]
    )
    low, high = (np.exp(each[0]) for each in both_ends(gains / 100, (0.95,)))
    found: list[float] = ((high - low) / 2 / np.exp(np.median(gains / 100, axis=0))).tolist()
    return found


def gained(seed: int, budget_s: float = 600, noise: Noise | None = None) -> float:
    """Half-widths of `AFTER` over those of `BEFORE`: the geometric mean over twelve ratios."""
    after, before = (
        half_widths(design, budget_s, noise or Noise(), seed) for design in (AFTER, BEFORE)
    )
    return float(np.exp(np.mean(np.log(after)) - np.mean(np.log(before))))


def _machine(runs: int, run_s: float, noise: Noise, rng: np.random.Generator) -> np.ndarray:
    """What the machine does to each run: an AR(1) process in time."""
    kept = np.exp(-run_s / noise.lasts_s)
    steps = rng.normal(0, np.sqrt(noise.machine), runs)
    steps[1:] *= np.sqrt(1 - kept**2)
    return np.asarray(lfilter([1.0], [1.0, -kept], steps))


def _root_mean_square(values: Sequence[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
