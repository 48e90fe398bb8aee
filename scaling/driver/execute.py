"""From a planned run to a line of the journal: the cell made, the child run, its ending told."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from scaling.arms import Arm
from scaling.driver.child import Child, run_child
from scaling.driver.services import Services
from scaling.journal.record import Description, RunLine
from scaling.plan.order import PlannedRun
from scaling.plan.plan import Plan

TICKS = 20  # sub-windows of a window: enough to see a drift, too few to cost anything


@dataclass(frozen=True)
class PreparedArm:
    """An arm ready to be measured: the interpreter of its environment, and what runs there.

    `origin` tells where the build came from, `left_out` which packages have no wheel for it.
    """

    arm: Arm
    python: str
    environment: Mapping[str, str]
    description: Description
    origin: str
    left_out: Mapping[str, str]


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
        needed = self._plan.workloads[cell.workload].services
        with self._services.during(needed, cell.parameters) as helped:
            at = datetime.now(UTC)
            ending = run_child(
                Child(arm.python, {**arm.environment, "PYTHONHASHSEED": self._hash_seed(run)}),
                self._plan.document(cell, services=helped.urls, ticks=TICKS),
                helpers_cpu_s=helped.cpu_s,
            )
        line = RunLine(
            cell=cell,
            outcome=ending.outcome,
            block=run.block,
            position=run.position,
            attempt=attempt,
            at=at.isoformat(timespec="seconds").replace("+00:00", "Z"),
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
