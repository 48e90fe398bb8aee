"""What `scaling app --write` writes: N loops in threads that start, serve and end well."""

import contextlib
import http.client
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.children import FREE_THREADED, PATIENCE_S
from tests.support.waiting import wait_until
from workers.system import free_port

pytestmark = pytest.mark.slow

MODULES = {
    "asgi": """
import asyncio, itertools, pathlib, sys

indices = itertools.count()

def make():
    index = str(next(indices))

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            await receive()
            if pathlib.Path("refuses").exists():
                await send({"type": "lifespan.startup.failed", "message": "no database"})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
            pathlib.Path(f"ended-{index}").touch()
            await send({"type": "lifespan.shutdown.complete"})
            return
        if scope["path"] == "/crash":
            asyncio.get_running_loop().call_soon(sys.exit, "crashed on purpose")
        if scope["path"] == "/slow":
            pathlib.Path("asked").touch()
            while not pathlib.Path("answer").exists():
                await asyncio.sleep(0.01)
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-length", b"1")]})
        await send({"type": "http.response.body", "body": index.encode()})

    return app
""",
    "aiohttp": """
import asyncio, itertools, pathlib, sys
from aiohttp import web

indices = itertools.count()

def make():
    index = str(next(indices))

    async def answer(request):
        if request.path == "/crash":
            asyncio.get_running_loop().call_soon(sys.exit, "crashed on purpose")
        if request.path == "/slow":
            pathlib.Path("asked").touch()
            while not pathlib.Path("answer").exists():
                await asyncio.sleep(0.01)
        return web.Response(text=index)

    async def lives(app):
        if pathlib.Path("refuses").exists():
            raise RuntimeError("no database")
        yield
        pathlib.Path(f"ended-{index}").touch()

    app = web.Application()
    app.router.add_get("/{any:.*}", answer)
    app.cleanup_ctx.append(lives)
    return app
""",
}
of_each = pytest.mark.parametrize("interface", MODULES)


class Running:
    """The program in a process of its own, which listens on a free port."""

    def __init__(self, folder: Path, interface: str, workers: int) -> None:
        from scaling.report.view.deploy import write_program  # with pandas: most do without

        (folder / "main.py").write_text(MODULES[interface])
        (folder / "deploy").mkdir()  # the program may be in any folder
        write_program(folder / "deploy" / "serve.py", interface, "main:make", factory=True)
        self.port = free_port()
        options = ["--workers", str(workers), "--port", str(self.port)]
        self.process = subprocess.Popen(
            [sys.executable, "deploy/serve.py", *options],
            cwd=folder,
            env={},
            stderr=subprocess.PIPE,
            text=True,
        )

    def until_ready(self) -> None:
        """Wait until it listens."""
        wait_until(lambda: self.listens() or self.process.poll() is not None)
        if self.process.poll() is not None:
            raise AssertionError(self.ended()[1])

    def listens(self) -> bool:
        """Whether it takes connections."""
        with contextlib.suppress(OSError), self.connection() as connection:
            connection.connect()
            return True
        return False

    @contextlib.contextmanager
    def connection(self) -> Iterator[http.client.HTTPConnection]:
        """A connection that is closed afterwards."""
        made = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        with contextlib.closing(made):
            yield made

    def ask(self, path: str = "/") -> str:
        """The body of an answer on a new connection."""
        with self.connection() as connection:
            connection.request("GET", path)
            return connection.getresponse().read().decode()

    def ended(self) -> tuple[int, str]:
        """Its exit code and standard error."""
        said = self.process.communicate(timeout=PATIENCE_S)[1]
        return self.process.returncode, said


@contextlib.contextmanager
def running(folder: Path, interface: str, workers: int = 2) -> Iterator[Running]:
    made = Running(folder, interface, workers)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.communicate()


@pytest.mark.free_threaded
@of_each
def test_connections_are_dealt_to_all_loops_evenly(tmp_path: Path, interface: str) -> None:
    with running(tmp_path, interface, workers=3) as server:
        server.until_ready()
        assert sorted(server.ask() for _ in range(6)) == [*"001122"]


@of_each
def test_sigterm_finishes_requests_and_lifespans_and_a_second_one_ends_at_once(
    tmp_path: Path, interface: str
) -> None:
    with running(tmp_path, interface) as server:
        server.until_ready()
        with server.connection() as connection:
            connection.request("GET", "/slow")
            wait_until((tmp_path / "asked").exists)
            server.process.terminate()
            wait_until(lambda: not server.listens())
            assert server.process.poll() is None  # it waits for the request
            if not FREE_THREADED:
                server.process.terminate()
                assert server.ended()[0] == -signal.SIGTERM
                return
            (tmp_path / "answer").touch()
            assert connection.getresponse().read() in (b"0", b"1")
        code, said = server.ended()
    assert code == 0, said
    assert {each.name for each in tmp_path.glob("ended-*")} == {"ended-0", "ended-1"}


@pytest.mark.free_threaded
@of_each
def test_a_loop_that_crashes_ends_the_process_with_its_error(
    tmp_path: Path, interface: str
) -> None:
    with running(tmp_path, interface) as server:
        server.until_ready()
        with contextlib.suppress(OSError, http.client.HTTPException):
            server.ask("/crash")
        code, said = server.ended()
    assert code == 1
    assert "crashed on purpose" in said


@pytest.mark.one_build
@of_each
def test_a_lifespan_that_fails_ends_the_process(tmp_path: Path, interface: str) -> None:
    (tmp_path / "refuses").touch()
    with running(tmp_path, interface) as server:
        code, said = server.ended()
    assert code == 1
    assert "no database" in said
