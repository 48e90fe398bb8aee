"""The commands that serve what is best for an application, as they are typed."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from scaling.analysis.results import StudyResults
from scaling.analysis.table.groups import counting_lines
from scaling.base.errors import UsageError
from scaling.base.files import refusal
from scaling.builds.arms import settings_of
from scaling.builds.settings.setting import GTHREAD
from scaling.journal.record import Cell, RunLine
from scaling.report.remedies import python_lines
from scaling.report.tables.grid import Cell as GridCell
from scaling.report.tables.grid import Grid
from scaling.study.application import SERVE, WORKLOAD, arguments
from scaling.study.questions import without_rate

NOTE = "For each aim the configuration that was decided, else both that were compared."
WRITTEN = "serve.py is written by scaling app --write serve.py."
# What serves an application on loops of this project, by the beginning of its name.
INTERFACES = {"uvicorn": "asgi", "aiohttp": "aiohttp"}


def deploy_commands(results: StudyResults) -> dict[Cell, str]:
    """The command for each configuration that is best, or may be, for an aim.

    Empty where it is not known what the application is: without a journal.
    """
    found = results.application
    if found is None or results.path is None:
        return {}
    runs = results.frame[results.frame["workload"] == WORKLOAD]
    known = (
        (interface, line.cell.parameters)
        for line in counting_lines(results.path, runs)
        if (interface := _interface(line))
    )
    interface, parameters = next(known, ("", {}))
    if not interface:
        return {}
    chosen = [
        each
        for shipped in found.shipped
        for each in ([shipped.cell] if shipped.cell else [shipped.ratio.of, shipped.ratio.over])
    ]
    return {
        each: command(each, interface, parameters)
        for each in dict.fromkeys(map(without_rate, chosen))
    }


def command(cell: Cell, interface: str, parameters: Mapping[str, Any]) -> str:
    """The command of a configuration, with the variables of its arm's settings before it."""
    variables = [variable for each in settings_of(cell.arm) for variable in each.variables]
    python = f"python{cell.arm.partition('+')[0]}"
    application, factory = str(parameters["application"]), bool(parameters.get("factory"))
    typed = arguments(interface, cell.model, application, cell.workers, factory=factory)
    return " ".join([*variables, python, typed])


def deploy_grids(found: Mapping[Cell, str]) -> Iterator[Grid]:
    """The commands as a table; none where they are not known."""
    if found:
        rows: list[list[GridCell]] = [
            [f"{each.arm} {each.model}", text] for each, text in found.items()
        ]
        note = f"{NOTE} {WRITTEN}" if any(SERVE in text for text in found.values()) else NOTE
        yield Grid("How to deploy it", ["configuration", "command"], rows, words=2, note=note)


def program_lines(cells: Iterable[Cell]) -> list[str]:
    """The lines of Python that the settings of these configurations take, arm by arm."""
    needed = {each.arm: python_lines(settings_of(each.arm)) for each in cells}
    return [line for arm, lines in needed.items() if lines for line in (f"# {arm}", *lines)]


def deploy_json(results: StudyResults) -> list[dict[str, Any]]:
    """The same as JSON objects; `lines` are those that the application also has."""
    return [
        {
            "arm": each.arm,
            "model": each.model,
            "workers": each.workers,
            "command": text,
            "lines": python_lines(settings_of(each.arm)),
        }
        for each, text in deploy_commands(results).items()
    ]


def _interface(line: RunLine) -> str:
    """What the application of a run is; empty where that run does not show it."""
    if line.cell.parameters.get("server") == GTHREAD:
        return "wsgi"
    served_by = line.record.facts.get("server", "") if line.record else ""
    is_own = line.cell.parameters.get("server") == "loops"
    return INTERFACES.get(served_by.partition(" ")[0], "") if is_own else ""


# -------------------------------------------------------------------------------------------- write
# Writes the program that serves an application as N loops in threads.

PROGRAMS: Mapping[str, Path] = {
    "asgi": Path(__file__).with_name("serve.py"),
    "aiohttp": Path(__file__).with_name("serve_aiohttp.py"),
}
WHY_NOT = {"wsgi": "gunicorn --worker-class gthread --threads N serves WSGI in N threads"}


def require_new(file: Path) -> None:
    """Refuse a file that exists, before anything is made.

    Raises:
        UsageError: it exists, or its folder does not.
    """
    if not file.parent.is_dir():
        raise UsageError(f"--write {file}: there is no folder {file.parent}")
    if file.exists():
        raise UsageError(f"--write {file}: the file exists; give another name")


def write_program(file: Path, interface: str) -> None:
    """Write the one for that interface to a new file; what is there is never replaced.

    Raises:
        UsageError: the file exists or cannot be written, or WSGI is served without it.
    """
    if interface in WHY_NOT:
        raise UsageError(f"--write {file}: no program is needed: {WHY_NOT[interface]}")
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(PROGRAMS[interface].read_text(encoding="utf-8"))
    except FileExistsError:
        raise UsageError(f"--write {file}: the file exists; give another name") from None
    except OSError as error:
        raise UsageError(f"--write {file}: cannot be written ({refusal(error)})") from None
