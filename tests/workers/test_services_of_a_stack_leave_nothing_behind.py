"""PostgreSQL, pgbouncer and nginx: there for a run, measured, and gone whatever happens."""

import asyncio
import errno
import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.request import urlopen

import asyncpg
import psutil
import pytest

from scaling.builds.installed import POSTGRES
from scaling.journal.record import ParameterValue
from scaling.run.probe import Phase
from scaling.run.service_process import ServiceError, ServiceProcess, Usage
from scaling.run.services import Services
from scaling.study.services import beside
from tests.support.children import PATIENCE_S, environment
from tests.support.refusing import failing
from workers.services.native import (
    Folder,
    Program,
    own_folder,
    remove_abandoned,
    serving,
)
from workers.services.nginx import require_proof
from workers.services.values import fill, letters

pytestmark = pytest.mark.one_build

ROWS = 100
KEY = 7
STACK: dict[str, ParameterValue] = {
    "rows": ROWS,
    "pooler": "pgbouncer",
    "db_connections": 3,
    "proxy": "nginx",
    "keep_alive": True,
    "delay_ms": 0,
    "body_bytes": 10,
}
POOLED, ROUNDS = 5, 40


@pytest.fixture(scope="module")
def kept(place: Path) -> Path:
    """Its own, in which no other file makes a database meanwhile."""
    return place / "kept"


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left(place: Path) -> Iterator[None]:
    """Once the services of this file have ended."""
    yield
    assert left_in(place) == []


def left_in(place: Path) -> list[str]:
    """Folders of services that are there, and processes that work in one."""
    processes = []
    for each in psutil.process_iter():
        try:
            if str(place) in each.cwd():
                processes.append(f"{each.pid} {each.name()}")
        except psutil.Error:
            continue
    return [*map(str, place.glob("scaling-service-*")), *processes]


@pytest.mark.slow
@pytest.mark.needs("nginx", "pgbouncer")
def test_a_run_has_proxy_pooler_and_database_and_what_they_used(services: Services) -> None:
    names = ("responder", *beside(("postgres",), STACK))
    with services.during(names, STACK) as usage:
        database, pooler = (usage.urls[name][0] for name in ("postgres", "pgbouncer"))
        assert usage.front
        (proxy,) = usage.front(usage.urls["responder"])
        usage.read()

        async def query() -> None:
            usage.at(Phase("load", {"instants_ns": [0, 0]}))
            await asyncio.sleep(0)
            assert usage._opened
            url = pooler.partition("?")[0]
            pool = [await asyncpg.connect(url, statement_cache_size=0) for _ in range(POOLED)]
            for each in pool * ROUNDS:
                found = await each.fetchrow("select a, b from row where a = $1", KEY)
                assert tuple(found) == (KEY, letters(KEY))
            usage.cpu_s()
            usage.at(Phase("closed"))
            for each in pool:
                await each.close()

        for _ in range(ROUNDS):
            assert len(urlopen(proxy).read()) == STACK["body_bytes"]
        asyncio.run(query())
    used = usage.use()
    assert used["pgbouncer"].connections == POOLED
    assert 1 <= (used["postgres"].connections or 0) <= 3  # as many as the pool has
    for name in ("postgres", "pgbouncer", "nginx"):
        assert used[name].memory_bytes
        assert used[name].window_cpu_s is not None
        assert used[name].ended == ""
    assert sum(used[name].window_cpu_s or 0.0 for name in ("postgres", "pgbouncer", "nginx")) > 0
    assert used["postgres"].facts["max_connections"] == "200"
    assert used["pgbouncer"].facts["pool"] == "3"
    assert used["nginx"].facts["version"]
    assert database != pooler
    with pytest.raises(OSError, match="refused"):
        urlopen(proxy)  # nginx was there for this run alone


@pytest.mark.slow
@pytest.mark.needs("servers")
def test_a_database_that_dies_is_gone_in_the_record_and_there_for_the_next_run(
    services: Services,
) -> None:
    with services.during(["postgres"], STACK) as usage:
        (server,) = (
            each
            for each in psutil.Process().children(recursive=True)
            if each.name() == "postgres" and "-D" in each.cmdline()
        )
        segment = Path(server.cwd(), "postmaster.pid").read_text().splitlines()[6].split()[1]
        assert segment in segments()
        server.kill()
        psutil.wait_procs([server], timeout=PATIENCE_S)
    assert "PostgreSQL ended" in usage.use()["postgres"].ended
    with services.during(["postgres"], STACK) as usage:
        assert asyncio.run(has_last_row(usage.urls["postgres"][0]))
    assert usage.use()["postgres"].ended == ""
    assert segment not in segments()


def segments() -> list[str]:
    """The shared memory of this machine, by number."""
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return [line.split()[1] for line in lines]


async def has_last_row(url: str) -> bool:
    connection = await asyncpg.connect(url)
    found = await connection.fetchval("select b from row where a = $1", ROWS)
    await connection.close()
    return bool(found == letters(ROWS))


def postgres(place: Path, *options: str, **variables: str) -> ServiceProcess:
    command = [sys.executable, "-m", "workers.services.postgres", f"--rows={ROWS}", "--until-eof"]
    return ServiceProcess(
        "postgres", [*command, *options], environment(TMPDIR=str(place), **variables)
    )


@pytest.mark.slow
@pytest.mark.needs("servers")
def test_an_installed_server_is_used_and_not_measured(place: Path, services: Services) -> None:
    url = services.need("postgres", STACK)[0]
    service = postgres(place, **{POSTGRES: url})
    try:
        assert asyncio.run(has_last_row(service.urls[0]))
        assert service.urls[0] == f"{url.rpartition('/')[0]}/scaling_{ROWS}_0"
        assert service.facts["installed"] == "yes"
        assert service.usage() == Usage()
    finally:
        service.close()
    with pytest.raises(ServiceError, match="try its URL with psql") as raised:
        postgres(place, **{POSTGRES: "postgresql://bob:secret@127.0.0.1:1/bobs"})
    assert "bob" not in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.slow
@pytest.mark.needs("servers")
def test_damaged_data_are_named_with_what_to_do(place: Path, services: Services) -> None:
    services.need("postgres", STACK)
    damaged = place / "damaged"
    (kept,) = (place / "kept").glob("postgresql-*")
    shutil.copytree(kept, damaged / kept.name)
    (damaged / kept.name / "global" / "pg_control").write_bytes(b"")
    with pytest.raises(ServiceError, match=rf"Delete .*{kept.name}, and its data are made again"):
        postgres(place, f"--cache={damaged}")


@pytest.mark.needs("servers")
@pytest.mark.parametrize(
    ("service", "printed"),
    [
        ("nginx", 'nginx: [emerg] unknown directive "no" in /etc/nginx.conf:3'),
        ("pgbouncer", "FATAL cannot load config file"),
    ],
)
def test_one_that_refuses_its_configuration_says_why(
    service: str, printed: str, tmp_path: Path
) -> None:
    program = tmp_path / service
    program.write_text(
        f"#!/bin/sh\n[ $1 = --version ] && echo PgBouncer 1.18.0 || echo '{printed}'"
    )
    program.chmod(0o755)
    command = [sys.executable, "-m", f"workers.services.{service}", "--until-eof"]
    command += [f"--program={program}", *["http://127.0.0.1:1"] * (service == "nginx")]
    with pytest.raises(ServiceError) as raised:
        ServiceProcess(service, command, environment(**{POSTGRES: "postgresql://a@127.0.0.1:1/b"}))
    assert f"{service} does not start: {printed}" in str(raised.value)


@pytest.mark.needs("servers")
@pytest.mark.parametrize(
    "printed",
    [
        ["nginx: [emerg] bind() to 127.0.0.1:80 failed (98: Address already in use)",
         "nginx: [emerg] still could not bind()"],
        ['LOG:  could not bind IPv4 address "127.0.0.1": Address already in use',
         "FATAL:  could not create any TCP/IP sockets"],
    ],
)  # fmt: skip
def test_one_whose_port_is_taken_gets_another(printed: list[str], tmp_path: Path) -> None:
    said = "".join(f"echo '{line}'; " for line in printed)
    ports: list[int] = []

    def command(port: int) -> list[str]:
        ports.append(port)
        return ["sleep", "9"] if len(ports) > 1 else ["sh", "-c", f"{said} exit 1"]

    async def answers(port: int) -> None:
        if len(ports) < 2:
            raise ConnectionRefusedError

    async def port_of_server(folder: Folder) -> int:
        async with serving(Program("it", command, answers), folder) as server:
            return server.port

    with own_folder(str(tmp_path)) as folder:
        assert asyncio.run(port_of_server(folder)) == ports[1]


def test_the_answer_of_another_server_is_not_taken_for_that_of_nginx() -> None:
    async def asked(body: bytes) -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert (await reader.readline()).startswith(b"GET /.scaling/proof ")
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + body)
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            await require_proof(server.sockets[0].getsockname()[1], "abc")

    asyncio.run(asked(b"abc"))
    with pytest.raises(ConnectionError, match="another process answers on its port"):
        asyncio.run(asked(b"anything else"))


def test_a_folder_is_removed_when_nobody_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It needs a file system with locks."""
    with own_folder(str(tmp_path)) as folder:
        remove_abandoned(str(tmp_path))
        assert Path(folder.path).is_dir()
        (tmp_path / "scaling-service-abandoned").mkdir()
        (tmp_path / "somebody-elses").mkdir()
        remove_abandoned(str(tmp_path))
        assert sorted(tmp_path.iterdir()) == [Path(folder.path), tmp_path / "somebody-elses"]
    monkeypatch.setattr("fcntl.flock", failing(errno.ENOSYS))
    with pytest.raises(OSError, match=os.strerror(errno.ENOSYS)), own_folder(str(tmp_path)):
        pass
    assert list(tmp_path.iterdir()) == [tmp_path / "somebody-elses"]


class Interrupted:
    """A connection that is lost while the index is made; `kept` is what was done for good."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self._open: list[str] | None = None

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        self._open = []
        yield
        self.kept += self._open

    async def execute(self, statement: str) -> None:
        if statement.startswith("alter"):
            raise ConnectionResetError
        (self.kept if self._open is None else self._open).append(statement)

    async def copy_to_table(self, name: str, source: AsyncIterator[bytes]) -> None:
        await self.execute(f"copy {name}")


def test_a_table_is_there_with_its_index_or_not_at_all() -> None:
    connection = Interrupted()
    with pytest.raises(ConnectionResetError):
        asyncio.run(fill(connection, ROWS, lambda _: None))
    assert connection.kept == []
