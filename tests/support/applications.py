"""Makes journals of studies of `scaling app` without measuring."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.journal.record import Line, RunLine, StudyLine
from tests.support.fabricate import with_, write
from tests.support.served import Served, journal

CONFIGURATIONS = (
    ("3.14", "processes"),
    ("3.14", "forked"),
    ("3.14+mimalloc", "processes"),
    ("3.14+mimalloc", "forked"),
    ("3.14t", "threads"),
)


def application_study(folder: Path, **changes: Any) -> Path:
    """The journal of a study of an application, at its peak and at 400 requests/s.

    `servers` are what it is served by, by model, where that is not this project's own server.
    """
    servers: Mapping[str, str] = changes.pop("servers", {})
    asked = {"configurations": CONFIGURATIONS, "rates": (0.0, 400.0), "blocks": 6, "window_s": 8.0}
    served = Served(**{"name": "app-shop", "parameters": {"server": "loops"}, **asked, **changes})
    folder.mkdir(parents=True, exist_ok=True)
    return write(
        [_of_application(line, servers) for line in journal(served)], folder / "journal.jsonl"
    )


def results_of(path: Path) -> StudyResults:
    return StudyResults.of(read_journal(path))


def _of_application(line: Line, servers: Mapping[str, str]) -> Line:
    if isinstance(line, StudyLine):
        (note,) = line.workloads.values()
        study = {**line.study, "application": {}, "controls": False}
        return with_(line, workloads={"app": note}, study=study)
    if not isinstance(line, RunLine):
        return line
    server = servers.get(line.cell.model, line.cell.parameters["server"])
    parameters = {**line.cell.parameters, "server": server}
    return with_(line, cell__workload="app", cell__parameters=parameters)
