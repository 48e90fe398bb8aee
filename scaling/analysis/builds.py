"""Arms whose builds differ in more than the thing compared: found, so that no table hides it.

Two builds with another compiler or OpenSSL differ by more than the GIL, and their ratio says
nothing about it. Intended differences are ignored: having the GIL or not, the allocator that comes
with it, and the version where two versions are compared, with the backports that the older one
needs.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import msgspec

from scaling.journal.record import ArmRecord, Environment, StudyLine

MEANT = frozenset({"--disable-gil"})
BACKPORTS = frozenset({"typing_extensions"})  # what newer versions have in them


@dataclass(frozen=True, slots=True)
class BuildDifference:
    """One fact in which arms differ: each of its values, with the arms that have it."""

    fact: str
    values: dict[str, list[str]]

    def __str__(self) -> str:
        """`OpenSSL: 3.0.19 (3.14), 3.5.1 (3.14t)`."""
        values = (f"{value} ({', '.join(arms)})" for value, arms in self.values.items())
        return f"{self.fact}: {', '.join(values)}"


def build_differences(study: StudyLine) -> list[BuildDifference]:
    """Everything that the study's arms differ in and should not.

    A value that could not be read is not compared; an arm without a description is listed as
    `not known`. Other runtimes than Python are meant to differ.
    """
    known = {name: arm.description for name, arm in study.arms.items() if arm.description}
    found = [_compared(fact, of, known) for fact, of in FACTS.items()]
    found += [
        _compared(f"version of {minor}", lambda each: each.python.version, arms)
        for minor, arms in _by_minor(study.arms).items()
    ]
    packages = sorted({name for each in known.values() for name in each.packages} - BACKPORTS)
    found += [_compared(name, _package(name), known) for name in packages]
    differing = [each for each in found if len(each.values) > 1]
    blank = [name for name, arm in study.arms.items() if name not in known and not arm.runtime]
    if blank and len(study.arms) > 1:
        differing.append(BuildDifference("build", {"not known": blank}))
    return differing


def build_differences_of(study: StudyLine, arms: Collection[str]) -> list[BuildDifference]:
    """The same of these arms of the study alone."""
    named = {name: arm for name, arm in study.arms.items() if name in arms}
    return build_differences(msgspec.structs.replace(study, arms=named))


def _options(environment: Environment) -> str:
    options = sorted(set(environment.python.config_args) - MEANT)
    return " ".join(options) or "none"


def _switch(value: bool | None) -> str | None:
    return None if value is None else ("off", "on")[value]


FACTS: dict[str, Callable[[Environment], str | None]] = {
    "compiler": lambda each: each.python.compiler,
    "PGO": lambda each: _switch(each.python.pgo),
    "LTO": lambda each: _switch(each.python.lto),
    "OpenSSL": lambda each: each.python.openssl,
    "libc": lambda each: each.python.libc,
    "configure options": _options,
}


def _package(name: str) -> Callable[[Environment], str | None]:
    return lambda each: each.packages.get(name, "absent")


def _compared(
    fact: str, of: Callable[[Environment], str | None], arms: Mapping[str, Environment]
) -> BuildDifference:
    values: dict[str, list[str]] = defaultdict(list)
    for name, environment in arms.items():
        value = of(environment)
        if value is not None:
            values[value].append(name)
    return BuildDifference(fact, dict(values))


def _by_minor(arms: Mapping[str, ArmRecord]) -> dict[str, dict[str, Environment]]:
    """Arms by `3.14`: their versions should agree to the last digit."""
    found: dict[str, dict[str, Environment]] = defaultdict(dict)
    for name, arm in arms.items():
        if arm.description is not None:
            minor = ".".join(arm.description.python.version.split(".")[:2])
            found[minor][name] = arm.description
    return found
