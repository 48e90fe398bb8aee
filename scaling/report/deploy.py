"""How to deploy what is best for an application: commands, and a program for N loops in threads."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from scaling.analysis.results import StudyResults
from scaling.analysis.table.groups import counting_lines
from scaling.base.errors import UsageError
from scaling.base.files import refusal
from scaling.builds.arms import settings_of
from scaling.builds.settings.setting import GTHREAD
from scaling.journal.record import Cell, RunLine
from scaling.report.tables.grid import Cell as GridCell
from scaling.report.tables.grid import Grid
from scaling.study.application import WORKLOAD, WSGI
from scaling.study.questions import without_rate

SERVE = "serve.py"
NOTE = "For each aim the configuration that was decided, else both that were compared."
WRITTEN = f"{SERVE} is written by scaling app --write {SERVE}."
# The interface by what serves it on loops of this project.
INTERFACES = {"uvicorn": "asgi", "aiohttp": "aiohttp"}
WORKER_CLASSES = {
    "asgi": "uvicorn_worker.UvicornWorker",
    "aiohttp": "aiohttp.GunicornWebWorker",
    "wsgi": "gthread",
}


def deploy_commands(results: StudyResults) -> dict[Cell, str]:
    """The command for each configuration that is best, or may be, for an aim.

    Empty where no run shows the application's interface, or there is no journal.
    """
    found = results.application
    if found is None or results.path is None:
        return {}
    runs = results.frame[results.frame["workload"] == WORKLOAD]
    lines = counting_lines(results.path, runs)
    shown = ((interface, line.cell) for line in lines if (interface := _interface(line)))
    interface, cell = next(shown, ("", None))
    if cell is None:
        return {}
    chosen = [
        each
        for shipped in found.shipped
        for each in ([shipped.cell] if shipped.cell else [shipped.ratio.of, shipped.ratio.over])
    ]
    cells = dict.fromkeys(map(without_rate, chosen))
    return {each: command(each, interface, cell.parameters) for each in cells}


def command(cell: Cell, interface: str, parameters: Mapping[str, Any]) -> str:
    """The command of a configuration, with the variables of its arm's settings before it."""
    variables = [variable for each in settings_of(cell.arm) for variable in each.variables]
    python = f"python{cell.arm.partition('+')[0]}"
    return " ".join([*variables, python, _arguments(cell, interface, parameters)])


def _arguments(cell: Cell, interface: str, parameters: Mapping[str, Any]) -> str:
    """The interpreter's. gunicorn calls a factory in each worker, with --preload once for all."""
    application, factory = str(parameters["application"]), bool(parameters.get("factory"))
    is_threads = cell.model == "threads"
    if is_threads and interface != WSGI:
        return f"{SERVE} --workers {cell.workers}"
    if cell.model == "processes" and interface == "asgi":
        called = f"{application} --factory" if factory else application
        return f"-m uvicorn {called} --workers {cell.workers} --http httptools"
    called = shlex.quote(f"{application}()") if factory else application
    preload = " --preload" if cell.model == "forked" else ""
    count = f"--{'threads' if is_threads else 'workers'} {cell.workers}"
    return f"-m gunicorn {called}{preload} --worker-class {WORKER_CLASSES[interface]} {count}"


def _interface(line: RunLine) -> str:
    """The application's interface; empty where that run does not show it."""
    server = line.cell.parameters.get("server")
    if server == GTHREAD:
        return WSGI
    served_by = line.record.facts.get("server", "") if line.record else ""
    return INTERFACES.get(served_by.partition(" ")[0], "") if server == "loops" else ""


def deploy_grids(commands: Mapping[Cell, str]) -> Iterator[Grid]:
    """The commands as a table; none where they are not known."""
    if commands:
        rows: list[list[GridCell]] = [
            [f"{each.arm} {each.model}", text] for each, text in commands.items()
        ]
        note = f"{NOTE} {WRITTEN}" if any(SERVE in text for text in commands.values()) else NOTE
        yield Grid("How to deploy it", ["configuration", "command"], rows, words=2, note=note)


def deploy_json(results: StudyResults) -> list[dict[str, Any]]:
    """The commands as JSON objects."""
    return [
        {"arm": each.arm, "model": each.model, "workers": each.workers, "command": text}
        for each, text in deploy_commands(results).items()
    ]


def require_new(file: Path) -> None:
    """Refuse a file that exists, before anything is made.

    Raises:
        UsageError: it exists, or its folder does not.
    """
    if not file.parent.is_dir():
        raise UsageError(f"--write {file}: there is no folder {file.parent}")
    if file.exists():
        raise UsageError(f"--write {file}: the file exists; give another name")


def write_program(file: Path, interface: str, application: str, *, factory: bool) -> None:
    """Write the program that serves `application` (`package.module:name`) as N loops in threads.

    Raises:
        UsageError: the file exists or cannot be written, or WSGI is served without a program.
    """
    if interface == WSGI:
        told = "gunicorn --worker-class gthread --threads N serves WSGI in N threads"
        raise UsageError(f"--write {file}: no program is needed: {told}")
    module, _, name = application.partition(":")
    template = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    ).get_template(f"{SERVE}.jinja")
    asked = {"application": application, "module": module, "name": name, "factory": factory}
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(template.render(interface=interface, **asked))
    except OSError as error:
        raise UsageError(f"--write {file}: cannot be written ({refusal(error)})") from None
