"""Radicale with a calendar of some events, which everybody may read."""

import json
from pathlib import Path

from radicale import config
from radicale.app import Application

from results.programs.events import EVENTS, event, made_once


def make(folder: Path) -> None:
    """Fill the folder of its storage."""
    calendar = folder / "collection-root" / "user" / "calendar"
    calendar.mkdir(parents=True)
    (calendar / ".Radicale.props").write_text(json.dumps({"tag": "VCALENDAR"}))
    for number in range(EVENTS):
        (calendar / f"{number}.ics").write_bytes(event(number).encode())


configuration = config.load()
configuration.update(
    {
        "auth": {"type": "none"},
        "rights": {"type": "authenticated"},
        "storage": {"filesystem_folder": str(made_once("radicale", make))},
        "logging": {"level": "error"},
    },
    "here",
)
application = Application(configuration)
