"""Deployment of an application: commands, and a program for N loops in threads."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from scaling.analysis.tables.study import Study, counting_lines
from scaling.base.errors import UsageError
from scaling.base.files import refusal
from scaling.base.models import is_mixed, model_of, processes_of, workers_each
from scaling.builds.arms import build_of, settings_of
from scaling.builds.settings.setting import GTHREAD
from scaling.journal.record import Cell, RunLine
from scaling.report.render.grid import Heading
from scaling.report.view.application import shipped
from scaling.report.view.declare import Table, fact
from scaling.study.application import WORKLOAD, WSGI
from scaling.study.sections import without_rate

SERVE = "serve.py"
# The interface, by the server on our own loops.
INTERFACES = {"uvicorn": "asgi", "aiohttp": "aiohttp"}
WORKER_CLASSES = {
    "asgi": "uvicorn_worker.UvicornWorker",
    "aiohttp": "aiohttp.GunicornWebWorker",
    "wsgi": "gthread",
}


def deploy_commands(study: Study) -> dict[Cell, str]:
    """The command for each configuration that may be the best for an aim.

    Empty if no run shows the application's interface, or without a journal.
    """
    found = shipped(study)
    if found.empty or study.path is None:
        return {}
    lines = counting_lines(study, WORKLOAD)
    shown = ((interface, line.cell) for line in lines if (interface := _interface(line)))
    if (first := next(shown, None)) is None:
        return {}
    interface, cell = first
    places = dict.fromkeys(place for some in found["places"] for place in some)
    cells = dict.fromkeys(without_rate(study.cells["cell"].iloc[place]) for place in places)
    return {each: command(each, interface, cell.parameters) for each in cells}


def command(cell: Cell, interface: str, parameters: Mapping[str, Any]) -> str:
    """The command of a configuration, with the variables of its arm's settings before it.

    Several processes of the program for N loops share its port: the kernel divides connections.
    """
    variables = [variable for each in settings_of(cell.arm) for variable in each.variables]
    python = f"python{build_of(cell.arm)}"
    line = " ".join([*variables, python, _arguments(cell, interface, parameters)])
    if is_mixed(cell.model) and interface != WSGI:
        numbers = " ".join(map(str, range(1, processes_of(cell.model, cell.workers) + 1)))
        return f"for n in {numbers}; do {line} & done; wait"
    return line


def _arguments(cell: Cell, interface: str, parameters: Mapping[str, Any]) -> str:
    """The arguments of Python. gunicorn calls a factory in each worker, with --preload once."""
    application, factory = str(parameters["application"]), bool(parameters.get("factory"))
    each, known = workers_each(cell.model, cell.workers), model_of(cell.model)
    if known.shares and interface != WSGI:
        return f"{SERVE} --workers {each}"
    if cell.model == "processes" and interface == "asgi":
        called = f"{application} --factory" if factory else application
        return f"-m uvicorn {called} --workers {cell.workers} --http httptools"
    called = shlex.quote(f"{application}()") if factory else application
    preload = " --preload" if known.forks else ""
    count = f" --workers {cell.workers // each}" if known.starts else ""
    count += f" --threads {each}" if known.shares else ""
    return f"-m gunicorn {called}{preload} --worker-class {WORKER_CLASSES[interface]}{count}"


def _interface(line: RunLine) -> str:
    """The application's interface; empty if the run does not show it."""
    server = line.cell.parameters.get("server")
    if server == GTHREAD:
        return WSGI
    served_by = line.record.facts.get("server", "") if line.record else ""
    return INTERFACES.get(served_by.partition(" ")[0], "") if server == "loops" else ""


def deployments(study: Study) -> pd.DataFrame:
    """The commands as a table: `configuration` and `command`."""
    commands = deploy_commands(study)
    return pd.DataFrame(
        [
            {"configuration": f"{cell.arm} {cell.model}, N = {cell.workers}", "command": text}
            for cell, text in commands.items()
        ]
    )


DEPLOY = Table(
    "How to deploy: the configuration to ship for each aim, else both candidates",
    deployments,
    rows={"": ("configuration",)},
    columns=(fact(Heading("command", left=True, wrap=True), "command"),),
)


def require_new(file: Path) -> None:
    """Refuse a file that exists, before anything is measured.

    Raises:
        UsageError: the file exists, or its folder does not.
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
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # tables do without

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
