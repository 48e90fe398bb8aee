"""Your own application answers on every worker's loop: one for each from a factory, else shared."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

from scaling.run.child import Ending
from tests.support.halves import on_this_build
from tests.support.serving import served

pytestmark = pytest.mark.slow

ASGI = """
    import os

    def create_app():
        told = {name: value for name, value in os.environ.items() if name.startswith("SCALING_")}
        state = {"requests": 0}

        async def answer(scope, receive, send):
            if scope["type"] == "lifespan":
                for _ in ("startup", "shutdown"):
                    event = (await receive())["type"]
                    if event == "lifespan.startup":
                        state["started"] = True
                        scope["state"]["own"] = state
                    await send({"type": f"{event}.complete"})
                return
            found = scope["state"]["own"] is state and state["started"]
            body = repr((found, sorted(told.items()))).encode()
            await send({"type": "http.response.start", "status": 200 if found else 500,
                        "headers": [(b"content-length", str(len(body)).encode())]})
            await send({"type": "http.response.body", "body": body})

        return answer

    app = create_app()
"""


def written(folder: Path, code: str, name: str = "shop") -> Path:
    (folder / f"{name}.py").write_text(textwrap.dedent(code))
    return folder


def run(
    folder: Path,
    application: str,
    model: str = "threads",
    own_code: bool = False,
    **parameters: Any,
) -> Ending:
    return served(
        "app",
        folder,
        model=model,
        workers=2,
        own_code=own_code,
        parameters={"application": application, **parameters},
    )


@pytest.mark.parametrize(
    ("factory", "model"), on_this_build([False, True], ["threads", "processes", "forked"])
)
def test_an_asgi_application_answers_under_every_model(
    tmp_path: Path, model: str, factory: bool
) -> None:
    name = "create_app" if factory else "app"
    # One object's lifespan is started by both loops: the second one has the state then.
    ending = run(written(tmp_path, ASGI), f"shop:{name}", model, factory=factory)
    assert ending.outcome == "measured", (ending.record and ending.record.failure, ending.stderr)
    assert ending.record
    assert ending.load
    assert ending.load.errors == {}
    assert [worker.errors for worker in ending.record.workers] == [0, 0]
    assert all(worker.ticks.operations[-1] for worker in ending.record.workers)
    facts = ending.record.facts
    assert facts["server"].startswith("uvicorn ")
    assert facts["http_parser"].startswith("httptools ")
    whose = {True: "one instance per worker", False: "one object per process"}[factory]
    if not factory and model == "threads":
        whose = "one object shared by all loops"
    assert facts["application"] == whose


AIOHTTP = """
    import os
    from aiohttp import web

    def create_app():
        async def answer(request):
            return web.Response(text="ok")

        app = web.Application()
        app.router.add_get("/", answer)
        app.router.add_get("/ready", answer)
        return app

    app = create_app()
"""


@pytest.mark.parametrize("model", ["threads", "processes"])
def test_an_aiohttp_application_answers(tmp_path: Path, model: str) -> None:
    folder = written(tmp_path, AIOHTTP)
    ending = run(folder, "shop:create_app", model, factory=True, health="/ready")
    assert ending.outcome == "measured", (ending.record and ending.record.failure, ending.stderr)
    assert ending.record
    assert ending.record.facts["http_parser"] == "aiohttp, C"
    assert all(worker.ticks.operations[-1] for worker in ending.record.workers)


def test_an_aiohttp_object_in_threads_is_refused_in_one_line(tmp_path: Path) -> None:
    ending = run(written(tmp_path, AIOHTTP), "shop:app")
    assert ending.outcome == "failed"
    assert ending.record
    assert ending.record.failure
    assert "runs on one event loop only" in ending.record.failure.error


BUDGETS = """
    import os
    import time
    NAMES = ("SCALING_WORKERS", "SCALING_WORKER_INDEX", "SCALING_BUDGET_DB")
    AT_IMPORT = [os.environ.get(name) for name in NAMES]

    def create_app():
        time.sleep(0.1)  # another worker that did not wait for its turn would set its variables
        own = [os.environ.get(name) for name in NAMES]

        async def app(scope, receive, send):
            if scope["type"] == "lifespan":
                await receive()
                with open(os.path.join(os.path.dirname(__file__), f"own-{own[1]}"), "w") as file:
                    print(AT_IMPORT, own, [os.environ.get(name) for name in NAMES], file=file)
                await send({"type": "lifespan.startup.complete"})
                await receive()
                await send({"type": "lifespan.shutdown.complete"})
                return
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        return app
"""


@pytest.mark.one_build
@pytest.mark.parametrize(
    ("model", "own_code"), [("threads", False), ("threads", True), ("processes", False)]
)
def test_each_worker_gets_its_share(tmp_path: Path, model: str, own_code: bool) -> None:
    folder = written(tmp_path, BUDGETS)
    budgets = "db=5,cache=2"
    ending = run(folder, "shop:create_app", model, own_code, factory=True, budgets=budgets)
    assert ending.outcome == "measured", (ending.record and ending.record.failure, ending.stderr)
    for index, share in ((0, "3"), (1, "2")):
        own = ["2", str(index), share]
        at_import = ["2", None, "5"] if model == "threads" else own
        assert (tmp_path / f"own-{index}").read_text() == f"{at_import} {own} {own}\n"


def test_workers_with_code_of_their_own_share_no_application(tmp_path: Path) -> None:
    """Both lifespans start an application of their own: each finds only the state that it set."""
    ending = run(written(tmp_path, ASGI), "shop:app", own_code=True)
    assert ending.outcome == "measured", (ending.record and ending.record.failure, ending.stderr)
    assert ending.record
    assert ending.record.facts["application"] == "one instance per worker"
    assert [worker.own_code for worker in ending.record.workers] == [True, True]
    assert [worker.errors for worker in ending.record.workers] == [0, 0]
