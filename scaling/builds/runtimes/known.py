"""The runtimes that have a program, by the names that a study uses for them."""

from dataclasses import dataclass
from pathlib import Path

OWN_LOOP = "own"
"""The loop of such an arm: what the runtime schedules its tasks with."""

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True, slots=True)
class Runtime:
    """The build of an arm that is not Python; its program reports `loop_class` as its loop.

    The program is a folder with a file for each workload, which is named after it. It runs workers
    of these `models`.
    """

    name: str
    loop_class: str
    language: str
    suffix: str
    models: tuple[str, ...] = ("threads",)

    @property
    def folder(self) -> Path:
        """Where its program is."""
        return PROGRAMS / self.language

    def implements(self, workload: str) -> bool:
        """Whether its program has the workload."""
        return (self.folder / f"{workload}{self.suffix}").is_file()


RUNTIMES = {
    each.name: each
    for each in (
        Runtime("go", "goroutines", "go", ".go", models=("threads", "processes")),
        Runtime("node", "node", "javascript", ".mjs"),
        Runtime("bun", "bun", "javascript", ".mjs"),
    )
}
"""Arms that are not Python, by name."""
