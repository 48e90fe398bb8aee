"""From planned runs to lines of the journal."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import msgspec

from scaling.base.formats import now
from scaling.builds.prepared_arm import PreparedArm
from scaling.journal.record import RunLine
from scaling.machine.topology import Apart, apart
from scaling.run.alternation import Member, in_turn
from scaling.run.child import Child, Ending, Run, observed, run_child
from scaling.run.load import Generator, GeneratorProgram
from scaling.run.probe import Observer
from scaling.run.redaction import secrets_in, without_own_paths
from scaling.run.service_process import ServiceError
from scaling.run.services import Services, ServiceUsage
from scaling.run.session import Done
from scaling.study.load import load_asked
from scaling.study.plan.cells import Plan
from scaling.study.plan.order import PlannedRun, hash_seed
from scaling.study.services import WORKERS, beside

TICKS = 20  # sub-windows of a window: enough to show a drift, too few to cost time


@dataclass
class _Job:
    """A planned run beside its services, or how it ended without them."""

    planned: PlannedRun
    usage: ServiceUsage | None = None
    run: Run | None = None
    ending: Ending | None = None
    at: str = ""

    async def in_turn(self, turn: Member[Any]) -> None:
        """Do the run in turn with others."""
        assert self.run
        self.at = now()
        self.ending = await observed(self.run, turn)

    def line(self, plan: Plan, alone: str | None) -> Done:
        """The line of the run; once its services have been read for the last time."""
        assert self.ending
        use = self.usage.use() if self.usage else {}
        if self.usage and self.ending.outcome == "timed-out":  # perhaps because a service hangs
            self.usage.end()
        planned = self.planned
        fields = vars(self.ending)  # of the line, but for the record as it was printed
        line = RunLine(
            cell=planned.cell,
            block=planned.block,
            position=planned.position,
            attempt=planned.attempt,
            alone=alone,
            placement=plan.placement(planned.cell.workers),
            repeat=planned.repeat,
            at=self.at or now(),
            services=use,
            **{name: each for name, each in fields.items() if name != "raw_record"},
        )
        return line, self.ending.raw_record


class Executor:
    """Does planned runs, each in a child of its own."""

    def __init__(
        self,
        plan: Plan,
        arms: Mapping[str, PreparedArm],
        services: Services,
        generators: GeneratorProgram,
        observers: Sequence[Observer] = (),
    ) -> None:
        """`generators` are for served workloads. `observers` look at each phase of every run."""
        self._plan = plan
        self._arms = arms
        self._services = services
        self._generators = generators
        self._observers = observers
        self._secrets = secrets_in(generators.requests)

    def together(self, planned: Sequence[PlannedRun]) -> list[Done]:
        """Do one run, or several in turn, all alive at the same time.

        What disturbed one of them disturbed all, and they are no disturbance to each other.
        """
        if len(planned) == 1:
            return [self(planned[0])]
        try:
            return self._in_turn(planned)
        except OSError as error:  # each run says how it is
            why = f"no process can be started to watch over them: {error.strerror}"
            found = [self(each) for each in planned]
            return [(msgspec.structs.replace(line, alone=why), raw) for line, raw in found]

    def _in_turn(self, planned: Sequence[PlannedRun]) -> list[Done]:
        first, order = planned[0], self._plan.turn_order(planned)
        jobs: list[_Job] = []

        def make(services: ExitStack) -> list[Callable[[Member[Any]], Coroutine[Any, Any, None]]]:
            jobs[:] = [self._job(each, services, in_slices=True) for each in order]
            return [each.in_turn for each in jobs if each.run]

        _, seen = in_turn(make, self._plan.window_s(first.cell))
        lines = [each.line(self._plan, alone=None) for each in jobs]
        lines.sort(key=lambda done: done[0].position)
        return [
            (msgspec.structs.replace(line, disturbance=seen, group=first.position), raw)
            for line, raw in lines
        ]

    def __call__(self, planned: PlannedRun) -> Done:
        """Do one run."""
        with ExitStack() as services:
            job = self._job(planned, services, in_slices=False)
            if job.run:
                job.at = now()
                job.ending = run_child(job.run)
        return job.line(self._plan, self._plan.alone(planned))

    def _job(self, planned: PlannedRun, services: ExitStack, *, in_slices: bool) -> _Job:
        """A run with its services, which are read until `services` is closed."""
        cell = planned.cell
        names = beside(self._plan.workloads[cell.workload].services, cell.parameters)
        asked = {**cell.parameters, WORKERS: cell.workers}
        try:
            usage = services.enter_context(self._services.during(names, asked, in_slices=in_slices))
        except ServiceError as error:  # the study goes on: other cells may not need it
            ending = Ending("crashed", 0.0, stderr=without_own_paths(str(error)))
            return _Job(planned, ending=ending)
        return _Job(planned, usage, self._run(planned, usage, in_slices=in_slices))

    def _run(self, planned: PlannedRun, usage: ServiceUsage, *, in_slices: bool) -> Run:
        cell = planned.cell
        arm, workload = self._arms[cell.arm], self._plan.workloads[cell.workload]
        topology, client, places = self._generators.topology, None, None
        if workload.served:
            if topology is not None:  # CPUs of their own, where there are enough
                places = apart(topology, cell.workers, self._generators.processes)
            client = self._generator(planned, places, in_slices=in_slices)
        variables = {**arm.environment, "PYTHONHASHSEED": str(self._seed(planned))}
        document = self._plan.document(cell, services=usage.urls, ticks=TICKS)
        return Run(
            Child(arm.program, variables, arm.arguments),
            {**document, **({"alternating": True} if in_slices else {})},
            limit_s=self._plan.study.limit_s if workload.finite else None,
            services=usage,
            client=client,
            cpus=places.workers if places else None,
            observers=self._observers,
            secrets=self._secrets,
        )

    def _generator(
        self, planned: PlannedRun, places: Apart | None, *, in_slices: bool
    ) -> Generator:
        """The load of a served cell: all cells of a block have the same arrivals at a rate."""
        cell = planned.cell
        asked = load_asked(
            cell.parameters,
            connections=self._plan.in_flight(cell) or cell.workers,
            seed=self._seed(planned),
        )
        cpus = places.generator if places else None
        warmup_s = self._plan.study.warmup_s
        return Generator(self._generators, asked, warmup_s, cpus, in_slices=in_slices)

    def _seed(self, planned: PlannedRun) -> int:
        return hash_seed(self._plan.study.seed, planned.block)
