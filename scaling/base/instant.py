"""When something was done, as the journal writes it: UTC, to the second, `2026-11-20T18:30:00Z`."""

from datetime import UTC, datetime


def now() -> str:
    """This instant."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
