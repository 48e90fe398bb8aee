"""Runs workloads in fresh children: loaded by a generator, beside services, or in turn."""

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scaling.journal.record import Disturbance, Load, Record, ServiceUse, WorkerRecord
from scaling.run.alternation import in_turn
from scaling.run.child import Child, Ending, Run, observed, run_child
from scaling.run.load import Generator, GeneratorProgram
from scaling.run.probe import Phase
from scaling.run.services import Services, ServiceUsage
from scaling.study.services import WORKERS, beside
from tests.support.children import environment, record_of

WARMUP_S = 0.1
# Time between the announcement of a window and its start: long enough for a busy machine.
ANNOUNCED_S = 0.6

type Cell = Mapping[str, Any]


def program(processes: int = 1, python: str = sys.executable, **variables: str) -> GeneratorProgram:
    """How generators are started: by the interpreter that runs the tests."""
    return GeneratorProgram(
        python=python, environment=environment(**variables), processes=processes
    )


def load_asked(
    connections: int,
    *,
    rate_per_s: float | None = None,
    keep_alive: bool = True,
) -> Load:
    """The load of a run: by default a closed loop."""
    return Load(
        rate_per_s=rate_per_s,
        arrivals="constant",
        keep_alive=keep_alive,
        connections=connections,
        seed=1,
    )


def served(
    workload: str,
    *folders: Path,
    apart: tuple[list[int], list[int]] | None = None,
    rate_per_s: float | None = 200.0,
    connections: int = 4,
    window_s: float = 0.5,
    generators: GeneratorProgram | None = None,
    watch: Callable[[Generator], None] = lambda generator: None,
    **cell: Any,
) -> Ending:
    """One run. `apart` has the CPUs of the workers and of the generator.

    `watch` is called with the generator before the run begins.
    """
    asked = load_asked(connections, rate_per_s=rate_per_s)
    generator = Generator(generators or program(), asked, WARMUP_S, apart[1] if apart else None)
    watch(generator)
    document = {
        "workload": workload,
        "warmup_s": ANNOUNCED_S,
        "window_s": window_s,
        "ticks": 4,
        "in_flight": connections,
        **cell,
    }
    child = Child(sys.executable, environment(*folders))
    return run_child(Run(child, document, client=generator, cpus=apart[0] if apart else None))


def load_of(ending: Ending) -> Load:
    """The load of a run that must succeed."""
    record_of(ending)
    assert ending.load
    return ending.load


async def nothing(_turn: object) -> None:
    """A job that does nothing."""


@dataclass(frozen=True)
class Looking:
    """An observer that calls `look` with each phase."""

    look: Callable[[Phase], object]

    def at(self, phase: Phase) -> None:
        self.look(phase)


@contextmanager
def run_beside(
    services: Services,
    cell: Cell,
    *folders: Path,
    needs: Sequence[str] = (),
    load: Load | None = None,
    in_slices: bool = False,
    at: Callable[[str, ServiceUsage], object] = lambda _phase, _usage: None,
) -> Iterator[tuple[Run, ServiceUsage]]:
    """A run with the services that it `needs` and its parameters ask for, and what they use.

    `at` is called at each phase. `in_slices`: it takes turns with others.
    """
    asked = {**cell["parameters"], WORKERS: cell["workers"]}
    with services.during(beside(needs, asked), asked, in_slices=in_slices) as usage:
        run = Run(
            Child(sys.executable, environment(*folders)),
            {**cell, "services": usage.urls, "alternating": in_slices},
            services=usage,
            client=Generator(program(), load, WARMUP_S, in_slices=in_slices) if load else None,
            observers=[Looking(lambda phase: at(phase.name, usage))],
        )
        yield run, usage


def beside_services(
    services: Services, cell: Cell, *folders: Path, **options: Any
) -> tuple[Ending, dict[str, ServiceUse]]:
    """Do a run of `run_beside` by itself; how it ended and what its services used."""
    with run_beside(services, cell, *folders, **options) as (run, usage):
        ending = run_child(run)
    return ending, usage.use()


def taking_turns(runs: Iterable[Run], window_s: float) -> tuple[list[Ending], Disturbance]:
    """Do these runs in turn, all alive at the same time."""
    return in_turn(lambda _: [partial(observed, run) for run in runs], window_s)


def alternated(
    cells: Sequence[Cell], *folders: Path, connections: int | None = None, **variables: str
) -> tuple[list[Ending], Disturbance]:
    """Runs of these cells in turn; with `connections`, each is loaded in a closed loop of its own.

    A cell may have a `limit_s`.
    """

    def run(cell: Cell) -> Run:
        document = {"in_flight": connections, **cell, "alternating": True}
        limit_s = document.pop("limit_s", None)
        load = load_asked(connections) if connections else None
        client = Generator(program(), load, WARMUP_S, in_slices=True) if load else None
        child = Child(sys.executable, environment(*folders, **variables))
        return Run(child, document, limit_s, client=client)

    return taking_turns(map(run, cells), cells[0]["window_s"])


type Span = tuple[int, int]  # opened, closed, ns


def true_slices(worker: WorkerRecord) -> list[Span]:
    """The slices of a worker, as they were taken."""
    assert worker.slices is not None
    return list(zip(worker.slices.opened_ns, worker.slices.closed_ns, strict=True))


def spans(record: Record) -> list[Span]:
    """From the first worker's opening to the last one's closing, of each slice."""
    every = zip(*(true_slices(worker) for worker in record.workers), strict=True)
    return [(min(a for a, _ in each), max(b for _, b in each)) for each in every]


def are_apart(records: Iterable[Record]) -> bool:
    """Whether no two of these worked at the same time."""
    every = sorted(span for record in records for span in spans(record))
    return all(closed < opened for (_, closed), (opened, _) in itertools.pairwise(every))
