"""Each configuration that may be shipped has the command that serves it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from scaling.analysis.table.timed_runs import counting_lines
from scaling.journal.record import Cell, RunLine
from scaling.report.application import application_json
from scaling.report.deploy import commands
from scaling.report.deploy.commands import command, deploy_commands
from scaling.report.page.render import page
from tests.support.applications import application_study, results_of
from tests.support.fabricate import with_

WORKER = "--worker-class"
COMMANDS = {
    ("asgi", "3.14t", "threads"): "python3.14t serve.py shop:make --factory --workers 2",
    ("asgi", "3.14", "processes"): (
        "python3.14 -m uvicorn shop:make --factory --workers 2 --http httptools"
    ),
    ("asgi", "3.14+mimalloc", "forked"): (
        "PYTHONMALLOC=mimalloc python3.14 -m gunicorn 'shop:make()' --preload --workers 2 "
        f"{WORKER} uvicorn_worker.UvicornWorker"
    ),
    ("aiohttp", "3.14t", "threads"): "python3.14t serve.py shop:make --factory --workers 2",
    ("aiohttp", "3.14", "processes"): (
        f"python3.14 -m gunicorn 'shop:make()' --workers 2 {WORKER} aiohttp.GunicornWebWorker"
    ),
    ("wsgi", "3.14t", "threads"): (
        f"python3.14t -m gunicorn 'shop:make()' {WORKER} gthread --threads 2"
    ),
    ("wsgi", "3.14", "processes"): (
        f"python3.14 -m gunicorn 'shop:make()' {WORKER} gthread --workers 2"
    ),
}


@pytest.mark.parametrize("asked", COMMANDS)
def test_models_and_settings_are_in_the_command(asked: tuple[str, str, str]) -> None:
    interface, arm, model = asked
    of = Cell(workload="app", loop="asyncio", arm=arm, model=model, workers=2)
    parameters = {"application": "shop:make", "factory": True}
    assert command(of, interface, parameters) == COMMANDS[asked]


def test_no_command_is_guessed_for_another_server(tmp_path: Path) -> None:
    assert deploy_commands(results_of(application_study(tmp_path, blocks=2))) == {}


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_what_won_is_deployed_by_page_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {"server": "uvicorn 0.54.0"}
    asked = {"application": "shop:app", "server": "loops"}
    read = counting_lines

    def lines(path: Path, runs: pd.DataFrame) -> Iterator[RunLine]:
        for line in read(path, runs):
            yield with_(line, record__facts=facts, cell__parameters=asked)

    monkeypatch.setattr(commands, "counting_lines", lines)
    results = results_of(application_study(tmp_path, speeds={("3.14t", "threads"): 1_600.0}))
    shown = json.loads(application_json(results))["deploy"]
    assert "python3.14t serve.py shop:app --workers 2" in [each["command"] for each in shown]
    assert "How to deploy it" in page(results)
