"""What must exist before a run: interpreters, environments, and what they can run."""

import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from scaling.base.errors import ScalingError, UsageError
from scaling.builds import environments, interpreters
from scaling.builds.arms import Arm, parse_arm
from scaling.builds.cache import Say
from scaling.builds.missing_packages import explained
from scaling.builds.prepared_arm import PreparedArm, prepare_runtime
from scaling.builds.runtimes.known import RUNTIMES
from scaling.journal.record import Description, decode_description
from scaling.run.execute import child_environment

DESCRIBE_LIMIT_S = 120.0


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
    made = {build: environments.existing(python) for build, python in given.items()}
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

    # Takes a second each; nothing is measured yet. Arms that are started alike are described once.
    asked = {arm: (str(made[arm.build.name].python), variables_of(arm)) for arm in pythons}
    with ThreadPoolExecutor() as pool:
        described = {
            repr(each): pool.submit(describe, *each, own_workloads)
            for each in {repr(each): each for each in asked.values()}.values()
        }

    def ready(arm: Arm) -> PreparedArm:
        interpreter, environment = found[arm.build.name], made[arm.build.name]
        description = described[repr(asked[arm])].result()
        return PreparedArm(
            arm=arm,
            program=asked[arm][0],
            environment=asked[arm][1],
            description=explained(description, environment.left_out),
            origin=interpreter.origin,
            left_out=environment.left_out,
        )

    done = {arm: ready(arm) for arm in pythons}
    like = done[pythons[0]].description
    return {arm.name: done.get(arm) or prepare_runtime(arm, like, say) for arm in arms}


def describe(
    python: str, environment: Mapping[str, str], workloads: Sequence[str] = ()
) -> Description:
    """Ask a child environment what can be run in it; `workloads` are a user's own.

    Raises:
        ScalingError: it fails, or answers with something other than a description.
    """
    flags = [word for name in workloads for word in ("--workload", name)]
    try:
        answer = subprocess.run(
            [python, "-m", "workers", "--describe", *flags],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environment),
            timeout=DESCRIBE_LIMIT_S,
            check=True,
        ).stdout
        return decode_description(answer)
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ScalingError(_no_description(python, last)) from None
    except (subprocess.TimeoutExpired, OSError, msgspec.DecodeError) as error:
        raise ScalingError(_no_description(python, str(error))) from None


def _no_description(python: str, why: str) -> str:
    return (
        f"the environment of {python} cannot list what runs in it: {why}. "
        f"If a requirement or a folder of yours is at fault, mend it; else delete the environment "
        f"and run the same command again"
    )
