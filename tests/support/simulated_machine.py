"""The journal of a machine that nobody here has: 64 cores in two sockets, each with an SMT sibling.

    python -m tests.support.simulated_machine FOLDER [BLOCKS]

Throughput follows the Universal Scalability Law up to the last core, with more coherency once
threads are on both sockets; siblings add a little, and workers beyond them nothing. Every run has
noise. 12 blocks are 20,000 runs. The journal is marked as simulated, and so is whatever is made
from it: it shows what someone with such a machine sees, and is evidence of nothing.
"""

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from scaling.journal.file import FILE_NAME
from scaling.journal.record import (
    Cell,
    Line,
    ParameterValue,
    RunLine,
    ThreadUse,
    Waits,
    encode_line,
)
from scaling.study import controls
from tests.support.runs import STARTED_AT, with_
from tests.support.studies import FakeStudy

CORES, SIBLINGS, NODES = 64, 128, 2
WORKERS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192)
ARMS = ("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t")
ARM_SPEEDS = {"3.14": 0.9, "3.14+mimalloc": 1.08, "3.14t+gil": 1.0, "3.14t": 0.97}
MODELS = ("threads", "processes", "forked")
VARIANTS: dict[str, list[dict[str, ParameterValue]]] = {
    "echo": [{"payload_bytes": size} for size in (64, 1024, 16384)],
    "stream": [{}],
    "scrape": [{}],
    "handoff": [{}],
}
# Contention and coherency; the latter of threads on both sockets stands apart.
THREADS, PROCESSES = (0.004, 0.00006), (0.002, 0.000004)
ACROSS_SOCKETS = 0.00018
SIBLING_GAIN, BEYOND_GAIN = 0.28, -0.03
RUN_S = 3


def speed(arm: str, model: str, n: int) -> float:
    """What N workers do, in multiples of one worker's work without any loss."""
    if model == "threads" and not arm.endswith("t"):
        return ARM_SPEEDS[arm] / (1 + 0.02 * (n - 1))
    alpha, beta = THREADS if model == "threads" else PROCESSES
    cores = min(n, CORES)
    beta_across = ACROSS_SOCKETS if model == "threads" and n > CORES // NODES else 0.0
    lost = alpha * (cores - 1) + beta * cores * (cores - 1)
    lost += beta_across * (cores - CORES // NODES) * (cores - 1)
    on_cores = cores / (1 + lost)
    siblings = SIBLING_GAIN * (min(n, SIBLINGS) - cores) / CORES
    beyond = BEYOND_GAIN * max(0, n - SIBLINGS) / CORES
    return ARM_SPEEDS[arm] * on_cores * (1 + siblings + beyond)


STUDY = FakeStudy(
    name="large-machine",
    variants=VARIANTS,
    arms=ARMS,
    loops=("asyncio", "uvloop"),
    models=MODELS,
    workers=WORKERS,
    cores=CORES,
    logical=SIBLINGS,
    noise=0.02,
    ticks=10,
    speeds={(a, m, n): speed(a, m, n) for a in ARMS for m in MODELS for n in WORKERS},
)


def _control(name: str) -> FakeStudy:
    """One control at one and two workers; what it must show, it shows."""
    shared = {(arm, controls.MODEL, 2): 0.6 for arm in ARMS} if name == "shared" else {}
    return replace(
        STUDY,
        variants={name: [dict(controls.CONTROLS[name])]},
        loops=(controls.LOOP,),
        models=(controls.MODEL,),
        workers=controls.COUNTS,
        speeds={**STUDY.speeds, **shared},
    )


def simulated(blocks: int, made: FakeStudy = STUDY) -> Iterator[Line]:
    """The lines of the journal."""
    rng = random.Random(made.seed)
    every = [made, *map(_control, controls.CONTROLS)]
    head = replace(made, blocks=blocks).first_line
    notes = {name: note for each in every for name, note in each.first_line.workloads.items()}
    yield with_(
        head, simulated=True, workloads=notes, machine__numa_nodes=NODES, machine__virtualised=None,
        machine__memory_bytes=512 * 2**30,
    )  # fmt: skip
    cells = [(each, cell) for each in every for cell in each.every_cell]
    pairs = [(made, with_(cell, twin=True)) for cell in _twins(made)]
    seconds = 0
    for block in range(blocks):
        order = rng.sample([*cells, *pairs], len(cells) + len(pairs))
        for position, (of, cell) in enumerate(order):
            run = of.run(cell, rng, block=block, position=position)
            at = f"{STARTED_AT + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"
            yield _with_readings(with_(run, at=at), rng)
            seconds += RUN_S


def _twins(made: FakeStudy) -> Iterator[Cell]:
    """The second of an A/A pair for each workload: threads without the GIL on half of the cores."""
    seen = set[str]()
    for cell in made.every_cell:
        middle = made.workers[len(made.workers) // 2]
        if (cell.arm, cell.model, cell.workers) == ("3.14t", "threads", middle):
            if cell.workload not in seen:
                yield cell
            seen.add(cell.workload)


def _with_readings(run: RunLine, rng: random.Random) -> RunLine:
    """The run with readings of where its workers' time went."""
    assert run.record is not None
    n, window_ns = run.cell.workers, round(STUDY.window_s * 1e9)
    has_gil = run.cell.model == "threads" and not run.cell.arm.endswith("t")
    share = min(1.0, SIBLINGS / n) / (n if has_gil else 1)
    on_cpu = round(window_ns * 0.97 * share)
    queued = 0 if has_gil else round(window_ns * 0.97 * (1 - min(1.0, SIBLINGS / n)))
    blocked = round(200 * (1 - share) * rng.gauss(0.95, 0.01)) if has_gil else min(60, n // 3)
    use = ThreadUse(
        user_ns=round(on_cpu * 0.68),
        system_ns=round(on_cpu * 0.32),
        run_queue_ns=queued,
        collector_ns=round(on_cpu * 0.01),
    )
    calls = {"futex": blocked, "epoll_wait": 6, "running": 194 - min(194, blocked)}
    workers = []
    for worker in run.record.workers:
        steps = len(worker.ticks.time_ns) - 1
        cpu_ns: list[int | None] = [round(on_cpu * step / steps) for step in range(steps + 1)]
        workers.append(with_(worker, use=use, ticks__cpu_ns=cpu_ns))
    waits = Waits(source="wchan", rate_per_s=100.0, took_s=STUDY.window_s, calls=[calls] * n)
    return with_(run, record__workers=workers, waits=waits)


def write_simulated(folder: Path, blocks: int, made: FakeStudy = STUDY) -> Path:
    """Write the journal, run by run, into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE_NAME
    with path.open("wb") as file:
        file.writelines(map(encode_line, simulated(blocks, made)))
    return path


if __name__ == "__main__":
    print(write_simulated(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 12))
