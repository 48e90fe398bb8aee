"""From a planned run to a line of the journal: the cell made, the child run, its ending told."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from scaling.arms import Arm
from scaling.driver.child import Child, run_child
from scaling.driver.services import Services
from scaling.interpreters import Build
from scaling.journal.instant import now
from scaling.journal.record import Description, RunLine
from scaling.plan.order import PlannedRun
from scaling.plan.plan import Plan

TICKS = 20  # sub-windows of a window: enough to see a drift, too few to cost anything


@dataclass(frozen=True)
class PreparedArm:
    """An arm ready to be measured: the interpreter of its environment, and what runs there.

    Another runtime has its own `program` and `arguments`, and is told by its version (`runtime`).
    `origin` tells where the build came from, `left_out` which packages have no wheel for it.
    """

    arm: Arm
    program: str
    environment: Mapping[str, str]
    description: Description
    origin: str
    left_out: Mapping[str, str]
    arguments: tuple[str, ...] = ("-m", "workers")
    runtime: str | None = None

    @property
    def is_python(self) -> bool:
        """Whether it is a build of CPython."""
        return isinstance(self.arm.build, Build)

    @property
    def is_there(self) -> bool:
        """Whether anything can be run on it: another runtime may be absent."""
        return self.is_python or self.runtime is not None


class Executor:
    """Runs one planned run after the other, each in a child of its own."""

    def __init__(self, plan: Plan, arms: Mapping[str, PreparedArm], services: Services) -> None:
        self._plan = plan
        self._arms = arms
        self._services = services

    def __call__(self, run: PlannedRun, attempt: int) -> tuple[RunLine, bytes | None]:
        """Do one run; return its line, and the record as the child printed it."""
        cell = run.cell
        arm = self._arms[cell.arm]
        workload = self._plan.workloads[cell.workload]
        with self._services.during(workload.services, cell.parameters) as helped:
            at = now()
            ending = run_child(
                Child(
                    arm.program,
                    {**arm.environment, "PYTHONHASHSEED": self._hash_seed(run)},
                    arm.arguments,
                ),
                self._plan.document(cell, services=helped.urls, ticks=TICKS),
                limit_s=self._plan.study.limit_s if workload.finite else None,
                helpers_cpu_s=helped.cpu_s,
            )
        line = RunLine(
            cell=cell,
            outcome=ending.outcome,
            block=run.block,
            position=run.position,
            attempt=attempt,
            at=at,
            elapsed_s=round(ending.elapsed_s, 3),
            record=ending.record,
            stderr=ending.stderr,
            exit_code=ending.exit_code,
            signal=ending.signal,
            memory=ending.memory,
            disturbance=ending.disturbance,
            services=helped.use(),
        )
        return line, ending.raw_record

    def _hash_seed(self, run: PlannedRun) -> str:
        """One hash seed a block: pairs inside a block hash alike, blocks sample the seeds."""
        return str((self._plan.study.seed * 1_000_003 + run.block) % 2**32)


def child_environment(arm: Arm, search_path: list[str]) -> dict[str, str]:
    """Environment variables of an arm's children, which import from `search_path` alone."""
    return arm.child_environment(os.environ) | {
        "PYTHONPATH": os.pathsep.join(search_path),
        "PYTHONSAFEPATH": "1",  # the folder that the user happens to stand in is not searched
    }
