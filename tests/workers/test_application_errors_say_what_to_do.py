"""An application that cannot be used is one line that says what to do, and names no secret."""

import asyncio
import gc
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scaling.journal.record import ParameterValue
from scaling.run.check.one_loop import AppCheckError, answers_of
from scaling.run.child import Child
from scaling.run.openapi import PLACES, requests_in_schema, schema_in
from tests.support.app_checks import APPLICATIONS, check
from tests.support.children import environment
from tests.support.in_process import at_work
from workers.outside import readiness as of_commands
from workers.workloads.app import App
from workers.workloads.parts import first_request
from workers.workloads.parts.applications import ApplicationError, load_application

pytestmark = pytest.mark.one_build

SHOP = """
    import functools, socket
    from aiohttp import web

    async def app(scope, receive, send):
        raise RuntimeError("not asked")

    class Framework:
        async def __call__(self, scope, receive, send): ...

    class Middleware:
        def __call__(self, environ, start_response): ...

    def create_app():
        return Framework()

    async def create_later():
        return Framework()

    def failing():
        raise KeyError("DATABASE_URL")

    def old(scope): ...

    framework, wsgi, number = Framework(), Middleware(), 7
    partial = functools.partial(create_app)
    of_aiohttp = web.Application()
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "shop.py").write_text(textwrap.dedent(SHOP))
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("shop", "broken", "inner"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("name", "factory", "expected"),
    [
        ("app", False, "asgi"),
        ("wsgi", False, "wsgi"),
        ("of_aiohttp", False, "aiohttp"),
        ("create_app", True, "asgi"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_what_an_application_is_is_found_out(name: str, factory: bool, expected: str) -> None:
    found = load_application(f"shop:{name}", factory)
    made = found.make()
    assert (found.interface, found.shared) == (expected, not factory)
    assert (found.make() is made) is not factory


@pytest.mark.parametrize(
    ("path", "factory", "interface", "says"),
    [
        ("shop", False, "auto", "write it as package.module:name"),
        ("shopp:app", False, "auto", "no module 'shopp' on the path: add its folder with --path"),
        ("shop:ap", False, "auto", "shop has no 'ap'; did you mean app"),
        ("shop:create_app", False, "auto", "if it makes the application, add --factory"),
        ("shop:old", False, "auto", "as ASGI 2 did"),
        ("shop:number", False, "auto", "an object of class int, which is no application"),
        ("shop:framework", True, "auto", "is an application itself: leave --factory out"),
        ("shop:app", False, "fcgi", "interface 'fcgi' is unknown; known: asgi, aiohttp, wsgi"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_what_is_no_application_is_refused(
    path: str, factory: bool, interface: str, says: str
) -> None:
    with pytest.raises(ApplicationError) as caught:
        load_application(path, factory, interface)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


MISSING = """\
broken cannot be imported: ModuleNotFoundError: No module named 'absent' (broken.py, line 2)
Add the package that has absent with --with"""


# Both close the sockets that they make only after an OSError: `socket.create_server` and uvloop.
leaves_sockets = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@leaves_sockets
@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x = 1\nimport absent.part", MISSING),
        (
            "raise ModuleNotFoundError('renamed in version 2, see the notes', name='pytest')",
            "broken cannot be imported: ModuleNotFoundError: renamed in version 2, see the notes",
        ),
        ("import aiohttp.nothing", "No module named 'aiohttp.nothing' (broken.py, line 1)"),
        ("import msgspec\nmsgspec.json.decode(b'[')", "truncated (broken.py, line 2)"),
        ("raise SystemExit(3)", "broken cannot be imported: SystemExit: 3"),
        ("import socket\nsocket.create_server(('127.0.0.1', 8000))", "starts a server when"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named(shop: Path, code: str, says: str) -> None:
    (shop / "broken.py").write_text(code)
    with pytest.raises(ApplicationError) as caught:
        load_application("broken:app", factory=False)
    said = str(caught.value)
    assert says in said
    assert ("--with" in said) is ("--with" in says)
    assert not {"listen", "bind"} & set(vars(__import__("socket").socket))
    del caught
    gc.collect()  # its socket, in this test


@leaves_sockets
def test_a_server_that_an_import_runs_is_noticed_at_once(shop: Path) -> None:
    code = """
        import asyncio
        from workers.loops import load_loop

        async def serve():
            server = await asyncio.get_running_loop().create_server(asyncio.Protocol, port=8_000)
            await server.serve_forever()

        with asyncio.Runner(loop_factory=load_loop("uvloop")) as runner:
            runner.run(serve())
    """
    (shop / "broken.py").write_text(textwrap.dedent(code))
    with pytest.raises(ApplicationError, match="broken starts a server when it is imported"):
        load_application("broken:app", factory=False)
    gc.collect()  # its sockets, in this test


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("failing", "the factory shop:failing failed: KeyError: 'DATABASE_URL' (shop.py, line "),
        ("create_later", "the factory shop:create_later is async: give a plain function"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_a_factory_that_fails_is_named(name: str, says: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        load_application(f"shop:{name}", factory=True).make()
    assert str(caught.value).startswith(says)


def started(**parameters: Any) -> str:
    """What setting up an application in this process says."""

    async def start() -> None:
        async with at_work(kind=App, **parameters):
            pass

    with pytest.raises(ApplicationError) as caught:
        asyncio.run(start())
    return str(caught.value)


LIFESPAN = """
    import asyncio
    from starlette.applications import Starlette
    from aiohttp import web

    class Lifespan:
        def __init__(self, app): pass
        async def __aenter__(self): raise ConnectionRefusedError("no database at 5432")
        async def __aexit__(self, *exc): pass

    starlette = Starlette(lifespan=Lifespan)

    async def connect(app):
        raise ConnectionRefusedError("no database at 5432")

    of_aiohttp = web.Application()
    of_aiohttp.on_startup.append(connect)

    async def waiting(scope, receive, send):
        await asyncio.sleep(3600)

    async def never(scope, receive, send):
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    async def silent(scope, receive, send):
        if scope["type"] == "http":
            await asyncio.sleep(3600)
"""


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("starlette", {}, "its lifespan failed: ConnectionRefusedError: no database at 5432"),
        ("of_aiohttp", {}, "did not start: ConnectionRefusedError: no database at 5432 (broken"),
        ("never", {"health": "/ready"}, "not ready: /ready was answered with status 503"),
        ("silent", {"health": "/ready"}, "not ready: /ready was not answered within"),
        ("waiting", {}, "its lifespan waits"),
    ],
)
def test_an_application_that_does_not_start_says_why(
    shop: Path,
    name: str,
    parameters: dict[str, Any],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (first_request, of_commands):  # half of ten seconds is for the child to start
        assert module.WRONG_S <= 5 < module.READY_S
    monkeypatch.setattr(first_request, "STARTED_S", 0.1 if name == "waiting" else 60.0)
    monkeypatch.setattr(first_request, "READY_S", 0.1)
    monkeypatch.setattr(first_request, "WRONG_S", 0.05)
    (shop / "broken.py").write_text(textwrap.dedent(LIFESPAN))
    assert says in started(application=f"broken:{name}", **parameters)


TOKEN = "b3c4-open-sesame"

REPEATS = """
async def application(scope, receive, send):
    cookie = dict(scope["headers"])[b"cookie"].decode()
    raise LookupError(f"no session {cookie}, {scope['query_string']}")
"""


@pytest.mark.slow
def test_the_schema_of_a_service_gives_what_can_be_asked() -> None:
    child = Child(sys.executable, environment(APPLICATIONS))
    asked: dict[str, ParameterValue] = {"application": "fastapi_shop.main:create_app"}
    asked["factory"] = True
    answers = answers_of(child, asked, [{"path": each} for each in PLACES])
    requests, _, notes = requests_in_schema(schema_in([each.body for each in answers]))
    assert {"path": "/health"} in requests
    assert {"path": "/items"} in requests
    assert any(line.startswith("left out, not GET: POST ") for line in notes)
    assert check("fastapi_shop.main:create_app", requests, alone=1, workers=(), factory=True).ok


@pytest.mark.slow
def test_what_an_application_says_of_a_request_has_no_secret_in_it(tmp_path: Path) -> None:
    (tmp_path / "repeats.py").write_text(REPEATS)
    request = {"path": f"/?token={TOKEN}", "headers": {"cookie": f"sid={TOKEN}"}}
    with pytest.raises(AppCheckError) as said:
        check("repeats:application", [request], tmp_path, alone=1, workers=(), lifespan="off")
    assert TOKEN not in str(said.value)
    assert "GET /?token=(hidden) is answered with status 500" in str(said.value)
    assert "no session sid=(hidden)" in str(said.value)
