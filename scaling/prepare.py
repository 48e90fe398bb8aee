"""Everything that must be there before a run: interpreters, environments, and what they can run."""

import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import msgspec

from scaling import environments, interpreters
from scaling.arms import Arm, parse_arm
from scaling.cache import Say
from scaling.driver.execute import PreparedArm, child_environment
from scaling.errors import ScalingError
from scaling.journal.record import Description, decode_description

DESCRIBE_LIMIT_S = 120.0


@dataclass(frozen=True)
class Wanted:
    """What the children need besides the pinned packages: a user's folders and requirements."""

    paths: Sequence[str] = ()
    requirements: Sequence[str] = ()
    pgo: bool = False


def prepare(
    names: Sequence[str],
    wanted: Wanted,
    workers_path: str,
    own_workloads: Sequence[str],
    say: Say,
) -> dict[str, PreparedArm]:
    """Get every arm ready to be measured, by name.

    `workers_path` is where children find `workers`; `own_workloads` are a user's, to be described
    beside the built-in ones.

    Raises:
        UsageError: an interpreter cannot be had, or a requirement cannot be installed.
        ScalingError: an environment cannot say what can be run in it.
    """
    arms = [parse_arm(name) for name in names]
    found = interpreters.ensure([arm.build.name for arm in arms], pgo=wanted.pgo, say=say)
    made = {
        build: environments.ensure(interpreter, extra=tuple(wanted.requirements), say=say)
        for build, interpreter in found.items()
    }

    def ready(arm: Arm) -> PreparedArm:
        interpreter, environment = found[arm.build.name], made[arm.build.name]
        variables = child_environment(arm, [workers_path, *wanted.paths])
        python = str(environment.python)
        return PreparedArm(
            arm=arm,
            python=python,
            environment=variables,
            description=describe(python, variables, own_workloads),
            origin=interpreter.origin,
            left_out=environment.left_out,
        )

    with ThreadPoolExecutor() as pool:  # a second each, of which nothing is measured
        return {arm.name: each for arm, each in zip(arms, pool.map(ready, arms), strict=True)}


def describe(
    python: str, environment: Mapping[str, str], workloads: Sequence[str] = ()
) -> Description:
    """Ask a child environment what can be run in it; `workloads` are a user's own.

    Raises:
        ScalingError: it does not answer, or not in the way agreed on.
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
        told = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ScalingError(f"a child environment cannot describe itself: {told}") from None
    except (subprocess.TimeoutExpired, OSError, msgspec.DecodeError) as error:
        raise ScalingError(f"a child environment cannot describe itself: {error}") from None
