"""What can be run in a child environment: `python -m workers --describe`, asked once and kept."""

import hashlib
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec

from scaling.base.errors import ScalingError
from scaling.base.files import whole
from scaling.builds.cache import folder
from scaling.journal.record import Description, decode_description

# --------------------------------------------------------------------------------- missing packages
# Why something cannot run in an environment, as the package that the environment lacks.
#
# A child only sees that an import fails; the reason (no wheel for this build) is known where its
# environment is made.

MISSING_MODULE = re.compile(r"No module named '([^'.]+)")


def explained(description: Description, left_out: Mapping[str, str]) -> Description:
    """The description with the real reason wherever a left-out package is missing.

    `left_out` has a reason for each package, by name.
    """
    reasons = {_module(name): reason for name, reason in left_out.items()}

    def of(reason: str | None) -> str | None:
        found = MISSING_MODULE.search(reason or "")
        return reasons.get(found[1], reason) if found else reason

    def again[T: msgspec.Struct](part: T, **changed: Any) -> T:
        return msgspec.structs.replace(part, **changed)

    return again(
        description,
        loops={
            name: again(loop, refused=of(loop.refused)) for name, loop in description.loops.items()
        },
        workloads={
            name: again(
                facts,
                refused=of(facts.refused),
                refusals=[again(each, reason=of(each.reason)) for each in facts.refusals],
            )
            for name, facts in description.workloads.items()
        },
    )


def _module(package: str) -> str:
    return package.replace("-", "_").lower()


# ----------------------------------------------------------------------------------------- describe

LIMIT_S = 120.0


def describe(
    python: str, environment: Mapping[str, str], workloads: Sequence[str] = ()
) -> Description:
    """Ask a child environment what can be run in it; `workloads` are a user's own.

    Raises:
        ScalingError: it fails, or answers with something other than a description.
    """
    return _decoded(python, _ask(python, tuple(environment.items()), tuple(workloads)))


def described(python: str, environment: Mapping[str, str], source: str) -> Description:
    """What an environment of ours says, which takes it a second or two: kept from the last time.

    It is asked again when `source`, the digest of the code that answers, its variables or the
    system have changed. An environment with anything of a user's must be asked each time.

    Raises:
        ScalingError: as by `describe`.
    """
    system = (platform.release(), platform.version(), *platform.libc_ver())
    key = hashlib.sha256(repr((source, system)).encode()).hexdigest().encode()
    name = hashlib.sha256(repr((python, sorted(environment.items()))).encode()).hexdigest()[:16]
    kept = folder() / "descriptions" / f"{name}.json"
    with suppress(OSError, msgspec.DecodeError):  # not there yet, or not whole: it is asked
        of, _, answer = kept.read_bytes().partition(b"\n")
        if of == key:
            return decode_description(answer)
    answer = _ask(python, tuple(environment.items()), ())
    description = _decoded(python, answer)
    with suppress(OSError):  # it is asked again next time
        kept.parent.mkdir(parents=True, exist_ok=True)
        with whole(kept) as file:
            file.write_bytes(key + b"\n" + answer)
    return description


@cache
def _ask(python: str, variables: tuple[tuple[str, str], ...], workloads: tuple[str, ...]) -> bytes:
    """The answer of an environment: once in this process, however many studies it prepares."""
    flags = [word for name in workloads for word in ("--workload", name)]
    try:
        return subprocess.run(
            [python, "-m", "workers", "--describe", *flags],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(variables),
            timeout=LIMIT_S,
            check=True,
        ).stdout
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ScalingError(_no_description(python, last)) from None
    except (subprocess.TimeoutExpired, OSError) as error:
        raise ScalingError(_no_description(python, str(error))) from None


def _decoded(python: str, answer: bytes) -> Description:
    try:
        return decode_description(answer)
    except msgspec.DecodeError as error:
        raise ScalingError(_no_description(python, str(error))) from None


def _no_description(python: str, why: str) -> str:
    return (
        f"the environment of {python} cannot list what runs in it: {why}. "
        f"If a requirement or a folder of yours is at fault, mend it; else delete the environment "
        f"and run the same command again"
    )
