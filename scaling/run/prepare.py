"""A study from its options to its plan: interpreters, environments, and what they can run.

Services and load generators run on one of these interpreters, too.
"""

import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import psutil

from scaling.base.errors import UsageError
from scaling.base.formats import listed, now
from scaling.base.version import __version__
from scaling.builds import cache, environments, interpreters
from scaling.builds.arms import Arm, parse_arm
from scaling.builds.cache import Say
from scaling.builds.cpython import Interpreter, inspect
from scaling.builds.environments import (
    own_source_hash,
    pins_sha256,
    workers_path,
    workers_source_hash,
)
from scaling.builds.own_requirements import OwnRequirements
from scaling.builds.prepared_arm import (
    PreparedArm,
    child_environment,
    describe,
    described,
    explained,
    prepare_runtime,
)
from scaling.builds.runtimes import RUNTIMES
from scaling.journal.identity import OWN, identity_of
from scaling.journal.record import (
    SCHEMA,
    ArmRecord,
    Description,
    Environment,
    StudyLine,
    WorkloadNote,
)
from scaling.machine.identity import describe_machine
from scaling.machine.limits import local_ports, open_files_limit
from scaling.machine.topology import Topology, memory_limit_bytes, read_topology
from scaling.run.load import GeneratorProgram
from scaling.run.process_tree import CANNOT_STOP
from scaling.run.redaction import without_own_paths
from scaling.run.services import Services
from scaling.study.definition import Options, Study
from scaling.study.file import StudyFile, study_from
from scaling.study.pins import group_for
from scaling.study.plan.budget import fitted
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.plan.refusals import Limits

# --------------------------------------------------------------------------------------------- arms


@dataclass(frozen=True)
class ChildNeeds:
    """Needs of the children: a group of pins, and a user's folders and requirements.

    `requirement_files` have one requirement a line. `variables` are added to the children's
    environment. `pythons` are environments that exist, by build: nothing is installed into these.
    """

    group: str = "child"
    paths: Sequence[str] = ()
    requirements: Sequence[str] = ()
    requirement_files: Sequence[str] = ()
    pgo: bool = False
    pythons: Mapping[str, Path] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def own_requirements(self) -> OwnRequirements | None:
        """The user's, where there are any."""
        if self.requirements or self.requirement_files:
            return OwnRequirements(self.requirements, self.requirement_files)
        return None


def prepare_arms(
    names: Sequence[str],
    wanted: ChildNeeds,
    workers_at: str,
    own_workloads: Sequence[str],
    say: Say,
) -> dict[str, PreparedArm]:
    """Prepare every arm, by name.

    `workers_at` is where children find `workers`; `own_workloads` are a user's, described beside
    the built-in ones.

    Raises:
        UsageError: there is no interpreter for an arm, or a requirement cannot be installed.
        ScalingError: an environment cannot describe what can be run in it.
    """
    arms = [parse_arm(name) for name in names]
    pythons = [arm for arm in arms if arm.name not in RUNTIMES]
    if not pythons:
        raise UsageError(f"{', '.join(names)}: add a CPython arm as the baseline (--arm 3.14,…)")
    found, made = _builds([arm.build.name for arm in pythons], wanted, say)
    path = [workers_at, *wanted.paths]
    starts = {
        arm: (str(made[arm.build.name]), {**child_environment(arm, path), **wanted.variables})
        for arm in pythons
    }
    descriptions = _descriptions(starts.values(), wanted, own_workloads)
    done = {}
    for arm, (program, environment) in starts.items():
        build = arm.build.name
        left_out = {} if build in wanted.pythons else environments.left_out(made[build])
        done[arm] = PreparedArm(
            arm=arm,
            program=program,
            environment=environment,
            description=explained(descriptions[repr(starts[arm])], left_out),
            origin=found[build].origin,
        )
    like = done[pythons[0]].description
    return {arm.name: done.get(arm) or prepare_runtime(arm, like, say) for arm in arms}


def _builds(
    builds: Sequence[str], wanted: ChildNeeds, say: Say
) -> tuple[dict[str, Interpreter], dict[str, Path]]:
    """The interpreter of each build, and the Python of its children's environment."""
    given = wanted.pythons
    missing = list(dict.fromkeys(build for build in builds if build not in given))
    found = {build: inspect(python, origin="yours") for build, python in given.items()}
    if missing:
        found |= interpreters.ensure(missing, pgo=wanted.pgo, say=say)
    made = dict(given)
    for build in missing:
        own = wanted.own_requirements
        made[build] = environments.ensure(found[build], group=wanted.group, own=own, say=say)
    return found, made


def _descriptions(
    starts: Iterable[tuple[str, Mapping[str, str]]],
    wanted: ChildNeeds,
    own_workloads: Sequence[str],
) -> dict[str, Description]:
    """The description of each environment, by the `repr` of its Python and variables.

    It takes a second each, and nothing is measured yet. Those that are alike are asked once.
    """
    theirs = (own_workloads, wanted.paths, wanted.requirements, wanted.requirement_files)
    may_change = any((*theirs, wanted.pythons, wanted.variables))  # a user's code
    source = None if may_change else workers_source_hash()

    def answer(python: str, environment: Mapping[str, str]) -> Description:
        if source is None:
            return describe(python, environment, own_workloads)
        return described(python, environment, source)

    different = {repr(each): each for each in starts}
    with ThreadPoolExecutor() as pool:
        answers = {key: pool.submit(answer, *each) for key, each in different.items()}
    return {key: each.result() for key, each in answers.items()}


# -------------------------------------------------------------------------------------------- study

MOST_MEMORY = 0.5  # of what is available, for runs that are alive at once


@dataclass(frozen=True)
class Prepared:
    """A study that can be run: its plan, and the arms it is run on.

    `pins` is the digest of the children's packages, `workers_source` that of the code that measures
    and `own_source` that of a user's own, which is in the folders `own_paths`. `requests` are a
    user's own, sent to what is served.
    """

    plan: Plan
    arms: Mapping[str, PreparedArm]
    topology: Topology
    pins: str
    workers_source: str
    own_source: str | None = None
    own_paths: Sequence[str] = ()
    requests: Sequence[Mapping[str, Any]] = ()

    @property
    def own_in_words(self) -> str:
        """`Python files below .`: what a user's own code is called."""
        here = Path.cwd()
        paths = [Path(each) for each in self.own_paths]
        shown = (each.relative_to(here) if each.is_relative_to(here) else each for each in paths)
        return f"Python files below {listed(shown)}" if paths else OWN

    def first_line(self) -> StudyLine:
        """The first line of a journal that begins now: the study, the machine and the builds."""
        plan, study = self.plan, self.plan.study
        line = StudyLine(
            schema=SCHEMA,
            name=study.name,
            machine=describe_machine(self.topology),
            study=study.document,
            seed=study.seed,
            blocks=study.blocks,
            runs_per_block=len(plan.slots),
            headline_runs=plan.headline_runs,
            order=plan.order,
            arms={name: _record_of(arm) for name, arm in self.arms.items() if arm.is_there},
            workloads={
                name: msgspec.convert(facts, WorkloadNote, from_attributes=True)
                for name, facts in plan.workloads.items()
            },
            refused=[
                msgspec.structs.replace(each, reason=without_own_paths(each.reason))
                for each in plan.refused
            ],
            pins=self.pins,
            workers_source=self.workers_source,
            own_source=self.own_source,
            scaling=__version__,
            started_at=now(),
        )
        return msgspec.structs.replace(line, fingerprint=identity_of(line).fingerprint)


def _record_of(prepared: PreparedArm) -> ArmRecord:
    arm, facts = prepared.arm, prepared.description
    described = Environment(python=facts.python, packages=facts.packages)
    return ArmRecord(
        build=arm.build.name,
        settings=list(arm.settings),
        origin=prepared.origin,
        runtime=prepared.runtime,
        description=described if prepared.is_python else None,
        expected=arm.expected,
    )


def running_build() -> str:
    """The build that this very process runs on: what a study is about if nothing names an arm."""
    suffix = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    return f"{sys.version_info.major}.{sys.version_info.minor}{suffix}"


def _planner(arms: Mapping[str, PreparedArm], topology: Topology) -> Callable[[Study], Plan]:
    """Return the function that makes plans for these arms, and for this machine as it is now."""
    limit_bytes, memory = memory_limit_bytes(), psutil.virtual_memory()
    return partial(
        make_plan,
        descriptions={name: arm.description for name, arm in arms.items()},
        topology=topology,
        limits=Limits(
            open_files=open_files_limit(),
            ports=local_ports(),
            memory_bytes=min(memory.total, limit_bytes),
        ),
        free_bytes=MOST_MEMORY * min(memory.available, limit_bytes),
        alone=CANNOT_STOP,
    )


@contextmanager
def prepared(
    options: Options, wanted: ChildNeeds, say: Say, file: StudyFile | None = None
) -> Iterator[Prepared]:
    """Prepare everything that the options ask for; children can be run inside the context.

    `file` is the study file, where it is not one that they name.

    Raises:
        UsageError: something that the options ask for does not exist or does not fit.
        ScalingError: something could not be prepared.
    """
    study = study_from(options, running_build=running_build(), file=file)
    own = [entry.name for entry in study.workloads if ":" in entry.name]
    with workers_path() as path:
        wanted = replace(wanted, group=group_for(study))
        arms = prepare_arms(study.arms, wanted, str(path), own, say)
        topology = read_topology()
        make = _planner(arms, topology)
        plan = make(study) if study.time_s is None else fitted(study, study.time_s, topology, make)
        plan.require_cells()
        yield Prepared(
            plan=plan,
            arms=arms,
            topology=topology,
            pins=pins_sha256(wanted.group),
            workers_source=workers_source_hash(),
            own_source=own_source_hash(wanted.paths),
            own_paths=wanted.paths,
        )


def services_of(ready: Prepared, note: Say = lambda _: None) -> Services:
    """Services on one build, without any arm's settings: they are no part of the comparison.

    `note` gets what they say while they make their data.
    """
    program, environment = _beside(ready)
    most = max(cell.workers for cell in ready.plan.cells)
    kept = cache.folder() / "databases"
    return Services(program, environment, workers=most, data=kept, note=note)


def generators_of(ready: Prepared, processes: int) -> GeneratorProgram:
    """The start of load generators: on the build of the services, with the GIL."""
    program, environment = _beside(ready)
    return GeneratorProgram(
        python=program,
        environment=environment,
        processes=processes,
        topology=ready.topology,
        requests=ready.requests,
    )


def _beside(ready: Prepared) -> tuple[str, dict[str, str]]:
    """The interpreter of what runs beside the child, and its environment.

    Without a build with the GIL, it is turned on.
    """
    arms = [arm for arm in ready.arms.values() if arm.is_python]
    # One with the GIL, which is faster for a single process; else the first.
    chosen = next((arm for arm in arms if not arm.description.python.free_threaded), arms[0])
    search_path = chosen.environment["PYTHONPATH"].split(os.pathsep)
    environment = child_environment(Arm(chosen.arm.build), search_path)
    if chosen.description.python.free_threaded:
        environment["PYTHON_GIL"] = "1"
    return chosen.program, environment
