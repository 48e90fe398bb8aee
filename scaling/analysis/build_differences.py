"""Arms whose builds differ in more than the thing compared: found, so that no table hides it.

Two builds with another compiler or OpenSSL differ by more than the GIL, and their ratio says
nothing about it. Intended differences are ignored: having the GIL or not, the allocator that comes
with it, and the version where two versions are compared, with the backports that the older one
needs.
"""

from collections import defaultdict
from collections.abc import Collection

from scaling.journal.record import Environment, StudyLine

MEANT = frozenset({"--disable-gil"})
BACKPORTS = frozenset({"typing_extensions"})  # what newer versions have in them


def build_differences(study: StudyLine, arms: Collection[str] = ()) -> dict[str, str]:
    """The facts in which arms differ and should not: `3.0.19 (3.14), 3.5.1 (3.14t)`.

    It is of all arms of the study, or of those named. A value that could not be read is not
    compared; an arm without a description is listed as `not known`. Other runtimes than Python are
    meant to differ.
    """
    chosen = {name: arm for name, arm in study.arms.items() if not arms or name in arms}
    known = {name: arm.description for name, arm in chosen.items() if arm.description}
    packages = {name for each in known.values() for name in each.packages} - BACKPORTS
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, environment in known.items():
        for fact, value in _facts(environment, sorted(packages)).items():
            if value is not None:
                found[fact][value].append(name)
    differing = {fact: values for fact, values in found.items() if len(values) > 1}
    blank = [name for name, arm in chosen.items() if name not in known and not arm.runtime]
    if blank and len(chosen) > 1:
        differing["build"] = {"not known": blank}
    return {
        fact: ", ".join(f"{value} ({', '.join(names)})" for value, names in values.items())
        for fact, values in differing.items()
    }


def _facts(environment: Environment, packages: Collection[str]) -> dict[str, str | None]:
    """The facts that should agree, None where one is not known. Versions agree to the last digit
    where the first two do.
    """
    python = environment.python
    minor = ".".join(python.version.split(".")[:2])
    return {
        "compiler": python.compiler,
        "PGO": _switch(python.pgo),
        "LTO": _switch(python.lto),
        "OpenSSL": python.openssl,
        "libc": python.libc,
        "configure options": " ".join(sorted(set(python.config_args) - MEANT)) or "none",
        f"version of {minor}": python.version,
        **{name: environment.packages.get(name, "absent") for name in packages},
    }


def _switch(value: bool | None) -> str | None:
    return None if value is None else ("off", "on")[value]
