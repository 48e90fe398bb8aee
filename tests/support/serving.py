"""Runs served workloads in fresh children, each loaded by a generator of its own."""

import random
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from scaling.journal.record import Disturbance
from scaling.run.alternation import in_turn
from scaling.run.child import Child, Ending, Turn, run_child
from scaling.run.load import Generator, GeneratorProgram
from scaling.study.load import LoadAsked
from tests.support.children import environment

WARMUP_S = 0.1
# Time between the announcement of a window and its start: long enough for a busy machine.
ANNOUNCED_S = 0.6

type Program = GeneratorProgram


def program(processes: int = 1, python: str = sys.executable, **variables: str) -> Program:
    """How generators are started: by the interpreter that runs the tests."""
    return GeneratorProgram(
        python=python, environment=environment(**variables), processes=processes
    )


def load_asked(
    connections: int,
    *,
    rate_per_s: float | None = None,
    keep_alive: bool = True,
    warmup_s: float = WARMUP_S,
) -> LoadAsked:
    """The load of a run: by default a closed loop."""
    return LoadAsked(
        rate_per_s=rate_per_s,
        arrivals="constant",
        keep_alive=keep_alive,
        connections=connections,
        seed=1,
        warmup_s=warmup_s,
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
    generator = Generator(generators or program(), asked, apart[1] if apart else None)
    watch(generator)
    document = {
        "workload": workload,
        "warmup_s": ANNOUNCED_S,
        "window_s": window_s,
        "ticks": 4,
        "in_flight": connections,
        **cell,
    }
    return run_child(
        Child(sys.executable, environment(*folders)),
        document,
        generator=generator,
        cpus=apart[0] if apart else None,
    )


def served_in_turn(
    cells: Iterable[Mapping[str, Any]],
    *folders: Path,
    connections: int = 8,
    keep_alive: bool = True,
    **variables: str,
) -> tuple[list[Ending], Disturbance]:
    """Closed loops, all alive at the same time, each with a generator of its own."""

    def job(cell: Mapping[str, Any], turn: Turn) -> Ending:
        asked = load_asked(connections, keep_alive=keep_alive)
        return run_child(
            Child(sys.executable, environment(*folders, **variables)),
            {"in_flight": connections, **cell, "alternating": True},
            generator=Generator(program(), asked, in_slices=True),
            turn=turn,
        )

    asked = list(cells)
    window_s = asked[0]["window_s"]
    return in_turn([partial(job, cell) for cell in asked], window_s, random.Random(1))
