"""The full stack: applications answer with rows of the database, on the servers people deploy with.

Real runs with PostgreSQL, pgbouncer and nginx are in `test_services_take_turns.py`;
`nox -s thorough` runs every stack.
"""

import asyncio
import json
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar, cast, get_args, get_type_hints

import pytest

from scaling.run.services import Services
from tests.support.children import FREE_THREADED, record_of
from tests.support.serving import ANNOUNCED_S, beside_services, load_asked, load_of
from workers.cell import LOOPS, Cell
from workers.services import pgbouncer
from workers.services.native import Folder, Program, Running
from workers.services.postgres import INSTALLED
from workers.services.values import letters
from workers.worker.workload import build
from workers.workloads.parts.applications import read_budgets, share_variables
from workers.workloads.parts.clients import service_variables
from workers.workloads.parts.commands import SERVERS, command_line
from workers.workloads.parts.first_request import FirstAnswer, check_row
from workers.workloads.parts.stack import APPLICATIONS, NOT_HERE
from workers.workloads.parts.stack.rows import AsyncRows, Database
from workers.workloads.web import Web

pytestmark = pytest.mark.one_build

STACKS = get_args(get_type_hints(Web)["stack"])
ROWS = 1_000
DATABASE = "postgresql://scaling@127.0.0.1:5432/scaling"


@pytest.mark.parametrize("stack", STACKS)
def test_every_stack_is_an_application_on_a_server_or_has_a_reason(stack: str) -> None:
    web = build(Web, {"stack": stack})
    assert isinstance(web, Web)
    reason = web.refuses("processes", "asyncio")
    if NOT_HERE.keys() & {stack, *stack.split("/")}:
        assert reason in NOT_HERE.values()
        return
    application, server = stack.split("/")
    assert application in APPLICATIONS
    assert server in {LOOPS, *SERVERS}
    runs = [model for model in ("processes", "threads") if web.refuses(model, "asyncio") is None]
    assert runs


def test_applications_of_sanic_do_not_share_a_process_and_granian_has_threads() -> None:
    assert "one per process" in (Web(stack="sanic/loops").refuses("threads", "asyncio") or "")
    flask, starlette = Web(stack="flask/granian"), Web(stack="starlette/granian")
    for web in (flask, starlette):  # with 16 connections
        web.placed(Cell("web", workers=2), None)
    assert " --blocking-threads 8 " in command_line(
        flask.hosted(), 2, "asyncio", "threads"
    )  # of 16
    assert "--blocking-threads" not in command_line(starlette.hosted(), 2, "asyncio", "threads")


def test_connections_to_the_database_are_divided_or_each_workers_own() -> None:
    divided, own = Web(db_connections=10), Web(pool_per_worker=4)
    for web, budgets, threads in ((divided, "db=10", 3), (own, "db=12", 4)):
        web.placed(Cell("web", model="processes", workers=3), None)
        assert (web.hosted().budgets, web.hosted().threads) == (budgets, threads)
    with pytest.raises(ValueError, match="raise db_connections"):
        Web(db_connections=2).placed(Cell("web", workers=3), None)


@pytest.mark.parametrize(
    "wrong", [{"a": 0}, {"a": 7, "b": letters(8)}, {"a": 11, "b": letters(11)}]
)
def test_an_answer_that_is_no_row_is_found(wrong: dict[str, object]) -> None:
    right = {"a": 7, "b": letters(7)}
    check_row(FirstAnswer(200, "HTTP/1.1 200 OK", json.dumps(right).encode()), rows=10)
    for status, body in ((200, wrong), (500, right)):
        with pytest.raises(RuntimeError, match="first request"):
            check_row(FirstAnswer(status, "", json.dumps(body).encode()), rows=10)


def test_a_pooler_that_loses_statements_gets_none() -> None:
    direct = service_variables({"postgres": [DATABASE]})
    pooled = service_variables({"postgres": [DATABASE], "pgbouncer": [f"{DATABASE}2?prepared=0"]})
    assert direct["SCALING_STATEMENT_CACHE"] != "0"
    assert pooled == {
        "SCALING_DATABASE_URL": f"{DATABASE}2",
        "SCALING_STATEMENT_CACHE": "0",
    }


@pytest.mark.parametrize(
    ("version", "keeps", "ends"),
    [
        ("1.20.1", False, signal.SIGTERM),
        ("1.21.0", True, signal.SIGTERM),
        ("1.100.0", True, signal.SIGQUIT),
    ],
)
def test_a_pooler_loses_statements_before_its_version_1_21_and_ends_at_once(
    version: str, keeps: bool, ends: signal.Signals, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = SimpleNamespace(stdout=f"PgBouncer {version}\nlibevent 2.1.12-stable\n")
    monkeypatch.setattr("subprocess.run", lambda *_, **__: said)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv(INSTALLED, DATABASE)
    configured: list[str] = []

    @asynccontextmanager
    async def serving(program: Program, folder: Folder) -> AsyncIterator[SimpleNamespace]:
        configured.append(await asyncio.to_thread(Path(program.command(6432)[-1]).read_text))
        yield SimpleNamespace(port=6432)

    def run(_: object, *, until_eof: bool, running: Running) -> int:
        async def announce() -> None:
            async with running() as announced:
                configured.extend(announced.urls)

        asyncio.run(announce())
        return 0

    monkeypatch.setattr(pgbouncer, "serving", serving)
    monkeypatch.setattr(pgbouncer, "run", run)
    assert pgbouncer.main([]) == 0
    text, url = configured
    assert (pgbouncer.STATEMENTS in text, url.endswith(pgbouncer.FORGETS)) == (keeps, not keeps)
    assert pgbouncer.ends_by(version) == ends


class LocalPool:
    """Knows the loop that it belongs to, and how many connections it has."""

    made: ClassVar[list[int]] = []

    def __init__(self, database: Database) -> None:
        self.made.append(database.of_each_loop)

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()

    async def fetch(self, key: int) -> tuple[int, str]:
        assert self._loop is asyncio.get_running_loop()
        return key, letters(key)

    async def close(self) -> None:
        assert self._loop is asyncio.get_running_loop()


def test_loops_that_share_an_application_have_a_pool_each(monkeypatch: pytest.MonkeyPatch) -> None:
    web = Web(stack="starlette/granian", db_connections=10, rows=ROWS)
    web.placed(Cell("web", workers=2), None)
    share = share_variables(2, None, read_budgets(web.hosted().budgets))
    found = web.variables() | share | service_variables({"postgres": [DATABASE]})
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("workers.workloads.parts.stack.rows.POOLS", {"asyncpg": LocalPool})
    monkeypatch.setattr(LocalPool, "made", [])
    rows = AsyncRows()

    answers: list[dict[str, object]] = []

    async def serve() -> None:
        answers.extend(await asyncio.gather(*(rows.any() for _ in range(3))))
        await rows.close()

    threads = [threading.Thread(target=lambda: asyncio.run(serve())) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert LocalPool.made == [5, 5]
    assert [row["b"] for row in answers] == [letters(cast(int, row["a"])) for row in answers]
    assert len(answers) == 6


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.needs("servers")
@pytest.mark.parametrize("stack", STACKS)
def test_every_stack_that_can_run_answers(stack: str, services: Services) -> None:
    web = build(Web, {"stack": stack})
    models = [each for each in ("threads", "processes") if web.refuses(each, "asyncio") is None]
    if not models:
        assert web.refuses("processes", "asyncio") in NOT_HERE.values()
        return
    for model in models:
        cell = {
            "workload": "workers.workloads.web:Web",
            "parameters": {"stack": stack, "db_connections": 4, "rows": ROWS, "keep_alive": True},
            "workers": 2,
            "model": model,
            "in_flight": 4,
            "warmup_s": ANNOUNCED_S,
            "window_s": 0.5,
        }
        ending, _ = beside_services(services, cell, needs=Web.services, load=load_asked(4))
        load = load_of(ending)
        assert load.errors == {}
        assert load.completed > 0
        assert record_of(ending).process.gil.seen == (not FREE_THREADED,) * 4
