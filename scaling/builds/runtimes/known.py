"""The runtimes that have a program, and the names by which a study asks for them."""

from dataclasses import dataclass

RUNTIMES = ("go", "node", "bun")
"""Arms that are no Python."""

OWN_LOOP = "own"
"""The loop of such an arm: what the runtime schedules its tasks with."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """What stands in the place of a build in an arm that is no Python."""

    name: str
