"""What must exist before a run: interpreters, environments, and what they can run."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from scaling.base.errors import UsageError
from scaling.builds import environments, interpreters
from scaling.builds.arms import Arm, parse_arm
from scaling.builds.cache import Say
from scaling.builds.child_path import workers_source_hash
from scaling.builds.describe import describe, described, explained
from scaling.builds.environments import ChildEnvironment
from scaling.builds.prepared_arm import PreparedArm, prepare_runtime
from scaling.builds.runtimes.runtime import RUNTIMES
from scaling.journal.record import Description
from scaling.run.execute import child_environment


@dataclass(frozen=True)
class ChildNeeds:
    """What the children need: a group of pins, and a user's folders and requirements.

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


def prepare(
    names: Sequence[str],
    wanted: ChildNeeds,
    workers_path: str,
    own_workloads: Sequence[str],
    say: Say,
) -> dict[str, PreparedArm]:
    """Prepare every arm, by name.

    `workers_path` is where children find `workers`; `own_workloads` are a user's, described beside
    the built-in ones.

    Raises:
        UsageError: there is no interpreter for an arm, or a requirement cannot be installed.
        ScalingError: an environment cannot describe what can be run in it.
    """
    arms = [parse_arm(name) for name in names]
    pythons = [arm for arm in arms if arm.name not in RUNTIMES]
    if not pythons:
        raise UsageError(f"{', '.join(names)}: add a CPython arm as the baseline (--arm 3.14,…)")
    given = wanted.pythons
    missing = [arm.build.name for arm in pythons if arm.build.name not in given]
    found = {build: interpreters.inspect(python, origin="yours") for build, python in given.items()}
    made = {build: ChildEnvironment(python) for build, python in given.items()}
    if missing:
        found |= interpreters.ensure(missing, pgo=wanted.pgo, say=say)
    for build in dict.fromkeys(missing):
        made[build] = environments.ensure(
            found[build],
            group=wanted.group,
            extra=tuple(wanted.requirements),
            files=tuple(wanted.requirement_files),
            say=say,
        )

    def variables_of(arm: Arm) -> dict[str, str]:
        path = [workers_path, *wanted.paths]
        return {**child_environment(arm, path), **wanted.variables}

    theirs = (own_workloads, wanted.paths, wanted.requirements, wanted.requirement_files)
    source = None if any((*theirs, given, wanted.variables)) else workers_source_hash()

    def answer(python: str, environment: Mapping[str, str]) -> Description:
        if source is None:  # a user's code may have changed
            return describe(python, environment, own_workloads)
        return described(python, environment, source)

    # Takes a second each; nothing is measured yet. Arms that are started alike are described once.
    asked = {arm: (str(made[arm.build.name].python), variables_of(arm)) for arm in pythons}
    with ThreadPoolExecutor() as pool:
        answers = {
            repr(each): pool.submit(answer, *each)
            for each in {repr(each): each for each in asked.values()}.values()
        }

    def ready(arm: Arm) -> PreparedArm:
        interpreter, environment = found[arm.build.name], made[arm.build.name]
        description = answers[repr(asked[arm])].result()
        return PreparedArm(
            arm=arm,
            program=asked[arm][0],
            environment=asked[arm][1],
            description=explained(description, environment.left_out),
            origin=interpreter.origin,
        )

    done = {arm: ready(arm) for arm in pythons}
    like = done[pythons[0]].description
    return {arm.name: done.get(arm) or prepare_runtime(arm, like, say) for arm in arms}
