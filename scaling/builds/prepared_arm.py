"""An arm ready to be measured: what is started, with which variables, and what runs there."""

from collections.abc import Mapping
from dataclasses import dataclass

from scaling.builds.arms import Arm
from scaling.builds.interpreters import Build
from scaling.journal.record import Description


@dataclass(frozen=True)
class PreparedArm:
    """An arm ready to be measured: the interpreter of its environment, and what runs there.

    Another runtime has its own `program` and `arguments`, and is told by its version (`runtime`).
    `origin` tells where the build came from, `left_out` which packages have no wheel for it.
    """

    arm: Arm
    program: str
    environment: Mapping[str, str]
    description: Description
    origin: str
    left_out: Mapping[str, str]
    arguments: tuple[str, ...] = ("-m", "workers")
    runtime: str | None = None

    @property
    def is_python(self) -> bool:
        """Whether it is a build of CPython."""
        return isinstance(self.arm.build, Build)

    @property
    def is_there(self) -> bool:
        """Whether anything can be run on it: another runtime may be absent."""
        return self.is_python or self.runtime is not None
