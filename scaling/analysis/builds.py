"""Arms whose builds differ in more than the thing compared: found, so that no table hides it.

Two builds with another compiler or OpenSSL differ by more than the GIL, and their ratio says
nothing about it. Intended differences are ignored: having the GIL or not, the allocator that comes
with it, and the version where two versions are compared, with the backports that the older one
needs.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

import msgspec

from scaling.journal.record import ArmRecord, Environment, StudyLine

MEANT = frozenset({"--disable-gil"})
BACKPORTS = frozenset({"typing_extensions"})  # what newer versions have in them


def build_differences(study: StudyLine) -> dict[str, str]:
    """The facts in which the study's arms differ and should not: `3.0.19 (3.14), 3.5.1 (3.14t)`.

    A value that could not be read is not compared; an arm without a description is listed as
    `not known`. Other runtimes than Python are meant to differ.
    """
    known = {name: arm.description for name, arm in study.arms.items() if arm.description}
    found = {fact: _values(of, known) for fact, of in FACTS.items()}
    for minor, arms in _by_minor(study.arms).items():
        found[f"version of {minor}"] = _values(lambda each: each.python.version, arms)
    packages = sorted({name for each in known.values() for name in each.packages} - BACKPORTS)
    found |= {name: _values(_package(name), known) for name in packages}
    blank = [name for name, arm in study.arms.items() if name not in known and not arm.runtime]
    unknown = {"build": {"not known": blank}} if blank and len(study.arms) > 1 else {}
    differing = {fact: values for fact, values in found.items() if len(values) > 1} | unknown
    return {
        fact: ", ".join(f"{value} ({', '.join(arms)})" for value, arms in values.items())
        for fact, values in differing.items()
    }


def build_differences_of(study: StudyLine, arms: Collection[str]) -> dict[str, str]:
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


def _values(
    of: Callable[[Environment], str | None], arms: Mapping[str, Environment]
) -> dict[str, list[str]]:
    """The known values of a fact, each with the arms that have it."""
    values: dict[str, list[str]] = defaultdict(list)
    for name, environment in arms.items():
        value = of(environment)
        if value is not None:
            values[value].append(name)
    return values


def _by_minor(arms: Mapping[str, ArmRecord]) -> dict[str, dict[str, Environment]]:
    """Arms by `3.14`: their versions should agree to the last digit."""
    found: dict[str, dict[str, Environment]] = defaultdict(dict)
    for name, arm in arms.items():
        if arm.description is not None:
            minor = ".".join(arm.description.python.version.split(".")[:2])
            found[minor][name] = arm.description
    return found
