"""The runtimes that have a program, by the names that a study uses for them."""

from dataclasses import dataclass

OWN_LOOP = "own"
"""The loop of such an arm: what the runtime schedules its tasks with."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """The build of an arm that is not Python; its program reports `loop_class` as its loop."""

    name: str
    loop_class: str


RUNTIMES = {
    each.name: each
    for each in (Runtime("go", "goroutines"), Runtime("node", "node"), Runtime("bun", "bun"))
}
"""Arms that are not Python, by name."""
