"""The commands that serve what is best for an application, as they are typed."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from scaling.analysis.comparison.paired import Configuration
from scaling.analysis.lookup.latencies import counting_lines
from scaling.analysis.results import StudyResults
from scaling.report.tables.grid import Cell, Grid
from scaling.study.application import WORKLOAD

NOTE = (
    "For each aim the configuration that was decided, else both that were compared. serve.py is "
    "written by scaling app --write serve.py."
)


def deploy_commands(results: StudyResults) -> dict[Configuration, str]:
    """The command for each configuration that is best, or may be, for an aim.

    Empty where it is not known what serves the application: of aiohttp, and without a journal.
    """
    found = results.application
    if found is None or results.path is None:
        return {}
    runs = results.frame[results.frame["workload"] == WORKLOAD]
    line = next(counting_lines(results.path, runs), None)
    served_by = line.record.facts.get("server", "") if line and line.record else ""
    if line is None or not served_by.startswith("uvicorn"):
        return {}
    chosen = [
        each
        for shipped in found.shipped
        for each in (
            [shipped.configuration] if shipped.configuration else [shipped.of, shipped.over]
        )
    ]
    return {each: command(each, line.cell.parameters) for each in dict.fromkeys(chosen)}


def command(configuration: Configuration, parameters: Mapping[str, Any]) -> str:
    """The command of an ASGI application; settings of an arm are variables before it."""
    arm, model, workers, _ = configuration
    build, *settings = arm.split("+")
    application = str(parameters["application"])
    factory = " --factory" if parameters.get("factory") else ""
    python = ("PYTHONMALLOC=mimalloc " if "mimalloc" in settings else "") + f"python{build}"
    if model == "threads":
        return f"{python} serve.py {application}{factory} --workers {workers}"
    if model == "forked":  # imported once, before the fork; the class is in uvicorn-worker
        called = shlex.quote(f"{application}()") if factory else application
        options = f"--preload --workers {workers} --worker-class uvicorn_worker.UvicornWorker"
        return f"{python} -m gunicorn {called} {options}"
    return f"{python} -m uvicorn {application}{factory} --workers {workers} --http httptools"


def deploy_grids(results: StudyResults) -> Iterator[Grid]:
    """The commands as a table; none where they are not known."""
    if found := deploy_commands(results):
        rows: list[list[Cell]] = [
            [f"{each.arm} {each.model}", text] for each, text in found.items()
        ]
        yield Grid("How to deploy it", ["configuration", "command"], rows, words=2, note=NOTE)


def deploy_json(results: StudyResults) -> list[dict[str, Any]]:
    """The same as JSON objects."""
    return [
        {"arm": each.arm, "model": each.model, "workers": each.workers, "command": text}
        for each, text in deploy_commands(results).items()
    ]
