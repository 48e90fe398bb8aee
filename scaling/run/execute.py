"""From a planned run to a line of the journal."""

import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from scaling.base.formats import now
from scaling.builds.prepared_arm import PreparedArm
from scaling.journal.record import Cell, RunLine, ServiceUse
from scaling.machine.topology import Apart, apart
from scaling.run.alternation import Member, in_turn
from scaling.run.child import Child, Ending, Watch, run_child
from scaling.run.load import Generator, GeneratorProgram
from scaling.run.redaction import secrets_in, without_own_paths
from scaling.run.service_process import ServiceError
from scaling.run.services import Services
from scaling.study.load import load_asked
from scaling.study.plan.cells import Plan
from scaling.study.plan.order import PlannedRun, hash_seed
from scaling.study.services import WORKERS, beside

TICKS = 20  # sub-windows of a window: enough to show a drift, too few to cost time


class Executor:
    """Runs one planned run after the other, each in a child of its own."""

    def __init__(
        self,
        plan: Plan,
        arms: Mapping[str, PreparedArm],
        services: Services,
        generators: GeneratorProgram,
        watch: Watch | None = None,
    ) -> None:
        """`generators` are for served workloads. `watch` is called at each phase of every run."""
        self._plan = plan
        self._arms = arms
        self._services = services
        self._generators = generators
        self._watch = watch
        self._secrets = secrets_in(generators.requests)

    def together(self, runs: Sequence[PlannedRun]) -> list[tuple[RunLine, bytes | None]]:
        """Do one run, or several in turn, all alive at the same time; return what `__call__` does
        of each.

        What disturbed one of them disturbed all, and they are no disturbance to each other.
        """
        first, *others = runs
        if not others:
            return [self(first)]
        seed = f"{self._plan.study.seed}:{first.block}:{first.position}:{first.attempt}"
        jobs = [partial(self, run) for run in runs]
        try:
            done, seen = in_turn(jobs, self._plan.window_s(first.cell), random.Random(seed))
        except OSError as error:  # each run says how it is
            why = f"no process can be started to watch over them: {error.strerror}"
            found = [self(run) for run in runs]
            return [(msgspec.structs.replace(line, alone=why), raw) for line, raw in found]
        return [
            (msgspec.structs.replace(line, disturbance=seen, group=first.position), raw)
            for line, raw in done
        ]

    def __call__(
        self, run: PlannedRun, turn: Member[Any] | None = None
    ) -> tuple[RunLine, bytes | None]:
        """Do one run; return its line and the record as the child printed it.

        With `turn` it takes turns with others.
        """
        cell, at = run.cell, now()
        use: dict[str, ServiceUse] = {}
        try:
            ending, use = self._run(run, turn)
        except ServiceError as error:  # the study goes on: other cells may not need it
            ending = Ending("crashed", 0.0, stderr=without_own_paths(str(error)))
        line = RunLine(
            cell=cell,
            outcome=ending.outcome,
            block=run.block,
            position=run.position,
            attempt=run.attempt,
            alone=None if turn else self._plan.alone(run),
            placement=self._plan.placement(cell.workers),
            repeat=run.repeat,
            at=at,
            elapsed_s=round(ending.elapsed_s, 3),
            record=ending.record,
            stderr=ending.stderr,
            exit_code=ending.exit_code,
            signal=ending.signal,
            memory=ending.memory,
            disturbance=ending.disturbance,
            services=use,
            load=ending.load,
            waits=ending.waits,
            out_of_turn_cpu_s=ending.out_of_turn_cpu_s,
        )
        return line, ending.raw_record

    def _run(
        self, run: PlannedRun, turn: Member[Any] | None
    ) -> tuple[Ending, dict[str, ServiceUse]]:
        """Run the cell in a child, beside its services; what they used.

        Raises:
            ServiceError: one of them cannot be started.
        """
        cell = run.cell
        arm, workload = self._arms[cell.arm], self._plan.workloads[cell.workload]
        names = beside(workload.services, cell.parameters)
        places = self._apart(cell) if workload.served else None
        asked = {**cell.parameters, WORKERS: cell.workers}
        with self._services.during(names, asked, in_slices=turn is not None) as usage:

            def watch(phase: str, facts: Mapping[str, Any]) -> None:
                usage.watch(phase, facts)
                if self._watch:
                    self._watch(phase, facts)

            ending = run_child(
                Child(
                    arm.program,
                    {**arm.environment, "PYTHONHASHSEED": str(self._seed(run))},
                    arm.arguments,
                ),
                {
                    **self._plan.document(cell, services=usage.urls, ticks=TICKS),
                    **({"alternating": True} if turn else {}),
                },
                limit_s=self._plan.study.limit_s if workload.finite else None,
                services_cpu_s=usage.cpu_s,
                generator=self._generator(run, places, in_slices=turn is not None),
                cpus=places.workers if places else None,
                watch=watch,
                front=usage.front,
                secrets=self._secrets,
                turn=turn,
            )
        use = usage.use()
        if ending.outcome == "timed-out":  # perhaps because a service hangs
            usage.end()
        return ending, use

    def _apart(self, cell: Cell) -> Apart | None:
        """CPUs of workers and load generator where they need not share any."""
        topology, processes = self._generators.topology, self._generators.processes
        return None if topology is None else apart(topology, cell.workers, processes)

    def _generator(
        self, run: PlannedRun, places: Apart | None, *, in_slices: bool
    ) -> Generator | None:
        """The load of a served cell: all cells of a block have the same arrivals at a rate."""
        cell = run.cell
        if not self._plan.workloads[cell.workload].served:
            return None
        asked = load_asked(
            cell.parameters,
            connections=self._plan.in_flight(cell) or cell.workers,
            seed=self._seed(run),
        )
        cpus = places.generator if places else None
        warmup_s = self._plan.study.warmup_s
        return Generator(self._generators, asked, warmup_s, cpus, in_slices=in_slices)

    def _seed(self, run: PlannedRun) -> int:
        return hash_seed(self._plan.study.seed, run.block)
