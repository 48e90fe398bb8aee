"""What happened to requests when something failed, as it is kept beside the journal."""

from pathlib import Path

import msgspec

from scaling.journal.beside import FAULTS, read_beside, write_beside


class FaultRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One fault in one configuration, served as it is deployed, under an open loop of requests.

    `lost` requests were sent and not answered; `refused` ones found nobody to connect to. Latencies
    are from the due time, of the loop that failed (`own`) and of the others; None without requests
    there. `back_s` is from the fault to the next answer of a new or another loop; None: none came.
    """

    fault: str
    arm: str
    model: str
    server: str
    workers: int
    rate_per_s: float
    requests: int
    lost: int
    refused: int
    own_p99_ms: float | None = None
    own_max_ms: float | None = None
    others_p99_ms: float | None = None
    others_max_ms: float | None = None
    back_s: float | None = None


def write_faults(folder: Path, faults: list[FaultRecord]) -> None:
    """Write them. Raises `OSError`."""
    write_beside(folder, FAULTS, faults)


def read_faults(folder: Path) -> list[FaultRecord]:
    """Those of a study; none where none were measured, or the file cannot be read."""
    return read_beside(folder, FAULTS, list[FaultRecord]) or []
