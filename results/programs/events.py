"""A calendar for the programs that keep one: the same events in each, made once on a machine."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

EVENTS = 50


def event(number: int) -> str:
    """An event as a file of iCalendar."""
    day = f"202601{1 + number % 28:02}"
    lines = (
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//example.org//calendar//EN",
        "BEGIN:VEVENT",
        f"UID:event-{number}@example.org",
        "DTSTAMP:20260101T000000Z",
        f"DTSTART:{day}T{8 + number % 10:02}0000Z",
        f"DTEND:{day}T{9 + number % 10:02}0000Z",
        f"SUMMARY:Meeting {number}",
        "LOCATION:Room 4",
        "END:VEVENT",
        "END:VCALENDAR",
    )
    return "".join(f"{line}\r\n" for line in lines)


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """A folder that `make` has filled: the one that all processes of this user share.

    Other events have another folder.
    """
    digest = hashlib.sha256("".join(map(event, range(EVENTS))).encode()).hexdigest()[:8]
    of_user = f"scaling-outside-{os.getuid()}"
    folder = Path(tempfile.gettempdir(), of_user, f"{name}-{digest}")
    if not folder.is_dir():
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=folder.parent))
        make(unfinished)
        try:
            unfinished.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(unfinished)
    return folder
