"""What differs between hosts, printed before anything is run on them.

Machines may differ: they are what is compared. Builds, packages and workloads should not.
"""

from collections.abc import Iterator, Mapping

from scaling.base.formats import listed
from scaling.journal.record import StudyLine

OF_A_BUILD = ("version", "compiler", "pgo", "lto", "openssl")


def same_machines(heads: Mapping[str, StudyLine]) -> Iterator[list[str]]:
    """The labels of hosts that are one machine."""
    for each in dict.fromkeys(head.machine.id for head in heads.values()):
        labels = [label for label, head in heads.items() if head.machine.id == each]
        if len(labels) > 1:
            yield labels


def differences(heads: Mapping[str, StudyLine]) -> Iterator[str]:
    """A line for each host that differs from the first one.

    host-2 differs from host-1 in: 3.14t version (3.14.5, not 3.14.7)
    """
    if not heads:
        return
    (first, one), *others = heads.items()
    ours = _facts(one)
    for label, head in others:
        theirs = _facts(head)
        found = [
            f"{name} ({theirs.get(name, 'none')}, not {ours.get(name, 'none')})"
            for name in {**ours, **theirs}
            if ours.get(name) != theirs.get(name)
        ]
        if found:
            yield f"{label} differs from {first} in: {listed(found)}"


def _facts(head: StudyLine) -> dict[str, str]:
    """All that should be the same, by what it is called."""
    facts = {"scaling": head.scaling, "workloads": (head.workers_source or "")[:8]}
    for name, arm in head.arms.items():
        facts[name] = arm.runtime or arm.build
        if arm.description is not None:
            python = arm.description.python
            facts |= {f"{name} {each}": str(getattr(python, each)) for each in OF_A_BUILD}
            facts |= {f"{name} {p}": version for p, version in arm.description.packages.items()}
    return {name: value for name, value in facts.items() if value}
