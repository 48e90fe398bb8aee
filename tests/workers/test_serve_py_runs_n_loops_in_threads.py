"""What `scaling app --write` writes: N loops in threads that start, serve and end well."""

import contextlib
import http.client
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from aiohttp import web

from scaling.report.deploy import serve, serve_aiohttp
from scaling.report.deploy.commands import write_program
from tests.support.children import PATIENCE_S
from tests.support.waiting import wait_until
from workers.system import free_port

pytestmark = pytest.mark.slow

OF_ASGI = """
import asyncio, contextlib, os, pathlib, socket, sys

def delayed():  # connections that wait before they send a short answer (Nagle's algorithm)
    count = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(name))) as found:
            if found.family == socket.AF_INET and found.getpeername():
                count += not found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    return count

def make():
    index = os.environ["SCALING_WORKER_INDEX"]

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            await receive()
            if os.environ.get("REFUSES") == index:
                await send({"type": "lifespan.startup.failed", "message": "no database"})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
            pathlib.Path(f"ended-{index}").touch()
            await send({"type": "lifespan.shutdown.complete"})
            return
        if scope["path"] == "/crash":
            asyncio.get_running_loop().call_soon(sys.exit, "crashed on purpose")
        if scope["path"] == "/never":
            pathlib.Path("asked").touch()
            await asyncio.sleep(3600)
        body = str(delayed()) if scope["path"] == "/delayed" else index
        await asyncio.sleep(0.002)
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-length", b"1")]})
        await send({"type": "http.response.body", "body": body.encode()})

    return app
"""
OF_AIOHTTP = """
import asyncio, os, pathlib, sys
from aiohttp import web

def make():
    index = os.environ["SCALING_WORKER_INDEX"]

    async def answer(request):
        if request.path == "/crash":
            asyncio.get_running_loop().call_soon(sys.exit, "crashed on purpose")
        if request.path == "/never":
            pathlib.Path("asked").touch()
            await asyncio.sleep(3600)
        await asyncio.sleep(0.002)
        return web.Response(text=index)

    async def lives(app):
        if os.environ.get("REFUSES") == index:
            raise RuntimeError("no database")
        yield
        pathlib.Path(f"ended-{index}").touch()

    app = web.Application()
    app.router.add_get("/{any:.*}", answer)
    app.cleanup_ctx.append(lives)
    return app
"""
APPLICATIONS = {"asgi": OF_ASGI, "aiohttp": OF_AIOHTTP}
of_each = pytest.mark.parametrize("interface", APPLICATIONS)


class Running:
    """The program in a process of its own, which listens on `port`, by default a free one."""

    def __init__(
        self, folder: Path, interface: str, workers: int, port: int = 0, **variables: str
    ) -> None:
        (folder / "shop.py").write_text(APPLICATIONS[interface])
        (folder / "deploy").mkdir(exist_ok=True)  # where the program is does not matter
        write_program(folder / "deploy" / "serve.py", interface)
        self.port = port or free_port()
        self.folder = folder
        options = ["--factory", "--workers", str(workers), "--port", str(self.port)]
        self.process = subprocess.Popen(
            [sys.executable, "deploy/serve.py", "shop:make", *options],
            cwd=folder,
            env=variables,
            stderr=subprocess.PIPE,
            text=True,
        )

    def until_ready(self) -> None:
        """Wait until it answers."""
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
def running(
    folder: Path, interface: str = "asgi", workers: int = 2, port: int = 0, **variables: str
) -> Iterator[Running]:
    made = Running(folder, interface, workers, port, **variables)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.communicate()


def ask_on(server: Running, answered: list[str], lost: list[Exception]) -> None:
    """Send one request after the other, on a connection as long as it may be, until refused."""
    while True:
        with server.connection() as connection:
            try:
                connection.connect()
            except OSError:
                return  # it listens no more
            while True:
                try:
                    connection.request("GET", "/")
                    answer = connection.getresponse()
                    answered.append(answer.read().decode())
                except (OSError, http.client.HTTPException) as error:
                    lost.append(error)
                    return
                if answer.getheader("connection") == "close":
                    break


@pytest.mark.free_threaded
@of_each
def test_all_loops_answer_and_end_with_their_lifespans(tmp_path: Path, interface: str) -> None:
    with running(tmp_path, interface, workers=3) as server:
        server.until_ready()
        assert sorted(server.ask() for _ in range(6)) == [*"001122"]  # dealt evenly
        server.process.terminate()
        assert server.ended()[0] == 0
    assert {each.name for each in tmp_path.glob("ended-*")} == {"ended-0", "ended-1", "ended-2"}


@pytest.mark.one_build
def test_a_port_that_is_taken_is_named_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with running(tmp_path, workers=1, port=port) as server:
            code, said = server.ended()
    assert code == 1
    assert "serve.py: no socket for ('127.0.0.1', " in said.splitlines()[-1]
    assert "Traceback" not in said


WRONG = {
    "shopp:make": "shopp cannot be imported in this folder: No module named 'shopp'",
    "shop:mak": "module 'shop' has no attribute 'mak'",
    "shop": "shop: expected MODULE:NAME, as in shop.main:app",
    ":make": ":make: expected MODULE:NAME, as in shop.main:app",
    "needs:app": "needs cannot be imported in this folder: No module named 'nothing_of_that_name'",
}


@pytest.mark.one_build
@pytest.mark.parametrize(
    ("interface", "application"), [*(("asgi", each) for each in WRONG), ("aiohttp", "shopp:make")]
)
def test_an_application_that_is_not_there_is_one_line(
    tmp_path: Path, interface: str, application: str
) -> None:
    (tmp_path / "shop.py").write_text(APPLICATIONS[interface])
    (tmp_path / "needs.py").write_text("import nothing_of_that_name")
    assert refused(tmp_path, interface, application, "--factory") == WRONG[application]


@pytest.mark.one_build
def test_an_application_of_one_loop_is_not_started_on_several(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("from aiohttp import web\napp, make = web.Application(), 1")
    several = refused(tmp_path, "aiohttp", "shop:app", "--workers", "2")
    assert several == "shop:app runs on one loop: name what makes it, with --factory"
    no_application = refused(tmp_path, "aiohttp", "shop:make")
    assert no_application == "shop:make is no aiohttp Application; if it makes one: --factory"


@pytest.mark.one_build
@of_each
def test_a_server_that_is_not_installed_is_one_line(tmp_path: Path, interface: str) -> None:
    name = {"asgi": "uvicorn", "aiohttp": "aiohttp"}[interface]
    (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError({name!r})")
    said = refused(tmp_path, interface, "shop:make", PYTHONPATH=str(tmp_path))
    assert said.startswith(f"{name} is missing: {sys.executable} -m pip install {name}")


def refused(folder: Path, interface: str, *arguments: str, **variables: str) -> str:
    """The one line that the program ends with, without its name."""
    write_program(folder / "serve.py", interface)
    command = [sys.executable, "serve.py", *arguments]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    (folder / "serve.py").unlink()
    return line.removeprefix("serve.py: ")


@pytest.mark.free_threaded
@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_short_answers_are_sent_at_once(tmp_path: Path) -> None:
    with running(tmp_path, workers=1) as server:
        server.until_ready()
        assert server.ask("/delayed") == "0"


@pytest.mark.free_threaded
@of_each
def test_sigterm_under_load_loses_no_request(tmp_path: Path, interface: str) -> None:
    answered: list[str] = []
    lost: list[Exception] = []
    with running(tmp_path, interface) as server:
        server.until_ready()
        clients = [threading.Thread(target=ask_on, args=(server, answered, lost)) for _ in range(8)]
        for each in clients:
            each.start()
        while len(answered) < 200 and not lost:
            time.sleep(0.01)
        server.process.terminate()
        for each in clients:
            each.join(PATIENCE_S)
        code, said = server.ended()
    assert lost == [], said
    assert (code, set(answered)) == (0, {"0", "1"})


def test_a_connection_that_its_loop_has_not_got_to_is_one() -> None:
    """Else a loop that is busy as it is asked to end would lose it."""
    on_uvicorn = serve.Worker("shop:make", factory=True)
    on_aiohttp = serve_aiohttp.Worker(web.Application)
    on_aiohttp.runner = web.AppRunner(web.Application())  # as it is while it serves
    for worker in (on_uvicorn, on_aiohttp):
        assert not worker.is_connected()
        worker.taken = Future()
        assert worker.is_connected()
        worker.taken.set_result(None)
        assert not worker.is_connected()


@pytest.mark.one_build
@of_each
def test_a_second_sigterm_ends_at_once(tmp_path: Path, interface: str) -> None:
    with running(tmp_path, interface) as server:
        server.until_ready()
        with server.connection() as connection:
            connection.request("GET", "/never")
            wait_until((tmp_path / "asked").exists)
            server.process.terminate()
            wait_until(lambda: not server.listens())
            assert server.process.poll() is None  # it waits for the request
            server.process.terminate()
            assert server.ended()[0] == -signal.SIGTERM


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
def test_a_lifespan_that_fails_on_one_loop_ends_the_process(tmp_path: Path, interface: str) -> None:
    with running(tmp_path, interface, REFUSES="1") as server:
        code, said = server.ended()
    assert code == 1
    assert "no database" in said
