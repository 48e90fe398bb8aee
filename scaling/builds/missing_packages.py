"""Why something cannot run in an environment, as the package that the environment lacks.

A child only sees that an import fails; the reason (no wheel for this build) is known where its
environment is made.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from scaling.journal.record import Description

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
