"""Your own application answers on every worker's loop: one for each from a factory, else shared."""

import importlib
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scaling.run.child import Ending
from tests.support.children import each_case, failure_of, record_of
from tests.support.serving import served
from workers.worker.workload import BUILT_IN, imported_anew, is_own, package_of

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


@pytest.mark.slow
@each_case(
    ("model", "name", "own_code", "whose"),
    [
        ("threads", "app", False, "one object shared by all loops"),
        ("threads", "app", True, "one instance per worker"),
        ("processes", "create_app", False, "one instance per worker"),
        ("forked", "app", False, "one object per process"),
    ],
)
def test_an_asgi_application_answers_under_every_model(
    tmp_path: Path, model: str, name: str, own_code: bool, whose: str
) -> None:
    """One object's lifespan is started by both loops: the second one has the state then. Where each
    worker has its own code, each application finds only the state that it set.
    """
    factory = name == "create_app"
    ending = run(written(tmp_path, ASGI), f"shop:{name}", model, own_code, factory=factory)
    record = record_of(ending)
    assert ending.load
    assert ending.load.errors == {}
    for worker in record.workers:
        assert worker.errors == 0
        assert model != "threads" or bool(worker.own_code) == own_code
    assert all(worker.ticks.operations[-1] for worker in record.workers)
    facts = record.facts
    assert facts["server"].startswith("uvicorn ")
    assert facts["http_parser"].startswith("httptools ")
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


@pytest.mark.slow
@pytest.mark.free_threaded
def test_an_aiohttp_application_answers_and_an_object_is_refused_in_threads(tmp_path: Path) -> None:
    folder = written(tmp_path, AIOHTTP)
    record = record_of(run(folder, "shop:create_app", factory=True, health="/ready"))
    assert record.facts["http_parser"] == "aiohttp, C"
    assert all(worker.ticks.operations[-1] for worker in record.workers)
    assert "runs on one event loop only" in failure_of(run(folder, "shop:app")).error


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


@pytest.mark.slow
@pytest.mark.one_build
@pytest.mark.parametrize(("model", "own_code"), [("threads", True), ("processes", False)])
def test_each_worker_gets_its_share(tmp_path: Path, model: str, own_code: bool) -> None:
    folder = written(tmp_path, BUDGETS)
    budgets = "db=5,cache=2"
    ending = run(folder, "shop:create_app", model, own_code, factory=True, budgets=budgets)
    record_of(ending)
    for index, share in ((0, "3"), (1, "2")):
        own = ["2", str(index), share]
        at_import = ["2", None, "5"] if model == "threads" else own
        assert (tmp_path / f"own-{index}").read_text() == f"{at_import} {own} {own}\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package with a module that uses another one of it."""
    folder = tmp_path / "own_code_shop"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "prices.py").write_text("class Price: pass\n")
    (folder / "main.py").write_text("from own_code_shop.prices import Price\nclass App: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder.name
    for name in [each for each in sys.modules if each.startswith(folder.name)]:
        del sys.modules[name]


def test_each_worker_has_classes_that_no_other_has(package: str) -> None:
    """Afterwards everything is where it was."""
    shared = importlib.import_module(f"{package}.main")
    before = dict(sys.modules)
    with imported_anew(package):
        one = importlib.import_module(f"{package}.main")
    with imported_anew(package):
        two = importlib.import_module(f"{package}.main")
    assert len({shared.App, one.App, two.App}) == 3
    assert len({shared.Price, one.Price, two.Price}) == 3
    assert (is_own(one.App), is_own(two.App), is_own(shared.App)) == (True, True, False)
    with pytest.raises(ModuleNotFoundError), imported_anew(package):
        importlib.import_module(f"{package}.missing")
    assert sys.modules == before
    assert sys.modules[package].main is shared
    assert (package_of("echo"), package_of("shop.main:app")) == (BUILT_IN, "shop")
