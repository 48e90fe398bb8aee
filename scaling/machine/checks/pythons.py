"""The interpreters on this machine, and environment variables that Python would read."""

from collections import defaultdict
from collections.abc import Iterator

from scaling.builds.arms import SCRUBBED_PREFIXES
from scaling.builds.interpreters import Interpreter
from scaling.builds.interpreters.crashes import SOUND_SINCE, may_crash
from scaling.machine.advice import Advice
from scaling.machine.snapshot import MachineSnapshot


def free_threaded(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Free-threaded builds that are known to crash."""
    free = [one for one in snapshot.interpreters if one.free_threaded]
    if not free:
        yield Advice(
            "warning",
            "no free-threaded interpreter is installed",
            "a study installs the one that it needs (takes some minutes)",
        )
    for one in free:
        if may_crash(one.version, free_threaded=True):
            yield Advice(
                "warning",
                f"{one.build} ({one.version}, {one.origin}) is older than {SOUND_SINCE}: "
                f"it can crash with several loops",
                f"install {SOUND_SINCE} or newer",
            )


def comparable(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Versions whose two builds differ in more than the GIL."""
    by_minor: dict[str, list[Interpreter]] = defaultdict(list)
    for one in snapshot.interpreters:
        by_minor[one.build.removesuffix("t")].append(one)
    for minor, found in by_minor.items():
        free = [one for one in found if one.free_threaded]
        gil = [one for one in found if not one.free_threaded]
        if not free or not gil:
            continue
        if any(one.comparable_with(other) for one in free for other in gil):
            yield Advice("ok", f"{minor} and {minor}t differ in the GIL only")
            continue
        first, second = gil[0], free[0]
        yield Advice(
            "warning",
            f"{first.build} ({_kind(first)}) and {second.build} ({_kind(second)}) differ in more "
            f"than the GIL",
            "a study of both installs a pair from one place by itself",
        )


def variables(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Variables that would change a measured process, and are not passed to it."""
    names = sorted(
        name for name in snapshot.environment if name.upper().startswith(SCRUBBED_PREFIXES)
    )
    if names:
        yield Advice(
            "ok",
            f"{', '.join(names)} in the environment: not passed to the measured processes",
            "to measure with such a setting, use an arm that has it (3.14+mimalloc, 3.14t+gil)",
        )


def _kind(one: Interpreter) -> str:
    return f"{one.version}, {one.origin}, {one.flags}, {one.compiler or 'unknown compiler'}"
