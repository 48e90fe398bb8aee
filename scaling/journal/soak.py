"""The memory of an application under a long load, as it is kept beside the journal."""

from pathlib import Path

import msgspec

from scaling.journal.beside import SOAK, read_beside, write_beside


class SoakRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration, served as it is deployed, under an open loop for `duration_s`.

    `memory_mib` has the median of each of its equal parts, up to the last one that was measured:
    PSS of the server's processes, or RSS where the system has no PSS (`kind`); None is a part in
    which nothing could be read. `ended` says why a run ended early; without it, `requests` were
    answered, and `errors` failed.
    """

    arm: str
    model: str
    server: str
    workers: int
    rate_per_s: float
    duration_s: float
    parts: int
    memory_mib: list[float | None]
    kind: str = "PSS"
    requests: int | None = None
    errors: int | None = None
    ended: str = ""

    @property
    def part_s(self) -> float:
        """How long a part is."""
        return self.duration_s / self.parts


def write_soak(folder: Path, found: list[SoakRecord]) -> None:
    """Write them. Raises `OSError`."""
    write_beside(folder, SOAK, found)


def read_soak(folder: Path) -> list[SoakRecord]:
    """Those of a study; none where none were measured, or the file cannot be read."""
    return read_beside(folder, SOAK, list[SoakRecord]) or []
