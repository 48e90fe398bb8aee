"""An arm ready to be measured: which program is started, how, and what can run on it."""

from collections.abc import Mapping
from dataclasses import dataclass

from scaling.builds.arms import Arm
from scaling.builds.cpython import Build
from scaling.journal.record import Description


@dataclass(frozen=True)
class PreparedArm:
    """An arm ready to be measured: the interpreter of its environment, and what can run there.

    A runtime other than Python has its own `program` and `arguments`; `runtime` is its version.
    `origin` is where the build came from, `left_out` the packages without a wheel for it, with
    reasons.
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
        """Whether anything can run on it: a runtime may not be installed."""
        return self.is_python or self.runtime is not None
