"""The interpreters that could be measured, and what the shell says to Python."""

from collections import defaultdict
from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from scaling.builds.arms import SCRUBBED_PREFIXES
from scaling.builds.interpreters import Interpreter
from scaling.machine.advice import Advice
from scaling.machine.snapshot import MachineSnapshot

# Before it, threads that make, cancel and close loops while another thread's collector runs crash
# (cpython#153809).
OLDEST_FREE_THREADED = Version("3.14.7")


def free_threaded(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Free-threaded builds that are known to crash."""
    free = [one for one in snapshot.interpreters if one.free_threaded]
    if not free:
        yield Advice(
            "mind",
            "no free-threaded interpreter is here yet",
            "nothing need be done: the study gets the one that it needs (some minutes)",
        )
    for one in free:
        if _older(one):
            yield Advice(
                "mind",
                f"{one.build} ({one.version}, {one.origin}) is older than {OLDEST_FREE_THREADED}: "
                f"it can crash with several loops",
                f"install {OLDEST_FREE_THREADED} or newer",
            )


def alike(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Pairs of builds of which each differs from the other in more than the GIL."""
    by_minor: dict[str, list[Interpreter]] = defaultdict(list)
    for one in snapshot.interpreters:
        by_minor[one.build.removesuffix("t")].append(one)
    for minor, found in by_minor.items():
        free = [one for one in found if one.free_threaded]
        gil = [one for one in found if not one.free_threaded]
        if not free or not gil:
            continue
        if any(one.comparable_with(other) for one in free for other in gil):
            yield Advice("fine", f"{minor} and {minor}t are there as builds of one kind")
            continue
        first, second = gil[0], free[0]
        yield Advice(
            "mind",
            f"{first.build} ({_kind(first)}) and {second.build} ({_kind(second)}) differ in more "
            f"than the GIL",
            "a study of both gets a pair from one place; leave the choice to it",
        )


def variables(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Variables that would change a child, and are kept from it."""
    names = sorted(
        name for name in snapshot.environment if name.upper().startswith(SCRUBBED_PREFIXES)
    )
    if names:
        yield Advice(
            "fine",
            f"{', '.join(names)} in the environment: kept from the measured processes",
            "to measure with such a setting, name an arm that has it (3.14+mimalloc, 3.14t+gil)",
        )


def _older(one: Interpreter) -> bool:
    try:
        return Version(one.version.rstrip("+")) < OLDEST_FREE_THREADED
    except InvalidVersion:
        return False


def _kind(one: Interpreter) -> str:
    return f"{one.version}, {one.origin}, {one.flags}, {one.compiler or 'unknown compiler'}"
