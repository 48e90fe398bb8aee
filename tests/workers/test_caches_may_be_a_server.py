"""A cache in Valkey, and misses that are rows of PostgreSQL: measured, or labelled when they fail.

The servers are real ones, but for those that answer wrongly.
"""

import asyncio
import contextlib
import socketserver
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from valkey import Valkey

from scaling.builds.installed import VALKEY
from scaling.journal.record import ParameterValue, ServiceUse
from scaling.run.child import Ending
from scaling.run.service_process import ServiceError, ServiceProcess, Usage
from scaling.run.services import Services, ServiceUsage
from tests.support.children import (
    FREE_THREADED,
    each_model,
    environment,
    failure_of,
    finish,
    record_of,
)
from tests.support.servers import kill_valkey, left_in
from tests.support.serving import beside_services
from tests.workers.test_caches_hit_as_often_as_theory_says import POINTS, expected_hits
from workers.cell import Cell
from workers.services.native import PREFIX
from workers.system import free_port
from workers.workloads.cache import Cache
from workers.workloads.parts.lookups import DatabaseValues

pytestmark = [pytest.mark.slow, pytest.mark.needs("servers")]

KEYS, ENTRIES, CONNECTIONS = 10_000, 1_000, 3

SIZES: dict[str, ParameterValue] = {
    "keys": KEYS,
    "rows": KEYS,
    "entries": ENTRIES,
    "miss_us": 1.0,
    "connections": CONNECTIONS,
}


def cell(model: str, parameters: Mapping[str, ParameterValue], window_s: float = 0.4) -> Any:
    return {
        "workload": "cache",
        "workers": 2,
        "model": model,
        "parameters": dict(parameters),
        "warmup_s": 0.1,
        "window_s": window_s,
        "ticks": 2,
    }


def measured(
    services: Services,
    model: str,
    *,
    window_s: float = 0.4,
    at: Callable[[str, ServiceUsage], None] = lambda _phase, _usage: None,
    **parameters: ParameterValue,
) -> tuple[Ending, dict[str, ServiceUse]]:
    """One run of two workers; `at` is called at each phase."""
    return beside_services(services, cell(model, SIZES | parameters, window_s), at=at)


@each_model("threads", "forked")
def test_workers_share_a_server_that_is_measured(
    model: str, place: Path, services: Services
) -> None:
    seen = []
    ending, used = measured(
        services, model, cache="valkey", at=lambda _, usage: seen.append(usage.urls["valkey"][0])
    )
    record = record_of(ending)
    assert {worker.errors for worker in record.workers} == {0}
    assert record.process.gil.seen == (not FREE_THREADED,) * 4
    assert all(20 < worker.figures["hit_percent"] < 95 for worker in record.workers)
    valkey = used["valkey"]
    assert valkey.connections == 2 * CONNECTIONS
    assert (valkey.memory_bytes or 0) > 1 << 20
    assert valkey.window_cpu_s is not None  # in ticks of 10 ms: it may be none of them
    assert (valkey.cpu_s or 0) >= valkey.window_cpu_s
    assert valkey.facts["maxmemory-policy"] == "allkeys-lru"
    assert seen[0].startswith(f"unix://{place}/{PREFIX}")
    assert left_in(place) == []  # each run has a server of its own


@pytest.mark.one_build
def test_it_has_memory_for_the_entries_that_are_asked(services: Services) -> None:
    held = []
    sizes: dict[str, Any] = {"entries": 10_000, "keys": 40_000, "rows": 40_000}

    def count(phase: str, usage: ServiceUsage) -> None:
        if phase == "closed":
            with Valkey.from_url(usage.urls["valkey"][0]) as client:
                held.append(client.dbsize())

    ending, _ = measured(services, "threads", cache="valkey", at=count, **sizes)
    assert ending.outcome == "measured"
    assert held == pytest.approx([10_000], rel=0.2)


@pytest.mark.free_threaded
def test_rows_are_read_where_a_cache_has_none_and_hits_are_those_of_theory(
    services: Services,
) -> None:
    ending, used = measured(services, "threads", cache="dict", miss="postgres", window_s=0.6)
    record = record_of(ending)
    assert record.process.gil.seen == (not FREE_THREADED,) * 4
    found = [worker.figures["hit_percent"] for worker in record.workers]
    assert sum(found) / 2 == pytest.approx(
        expected_hits("dict", KEYS, ENTRIES, 1.0), abs=2 * POINTS
    )
    assert used["postgres"].connections == 2 * CONNECTIONS
    assert (used["postgres"].window_cpu_s or 0) > 0


@pytest.mark.one_build
def test_a_server_that_dies_in_the_window_is_a_labelled_run(
    place: Path, services: Services
) -> None:
    def kill(phase: str, _usage: ServiceUsage) -> None:
        if phase == "load":
            threading.Timer(0.4, kill_valkey, [place]).start()

    ending, used = measured(services, "threads", cache="valkey", window_s=2.0, at=kill)
    failure = failure_of(ending)
    assert failure.phase == "window"
    assert "ConnectionError" in failure.error
    assert "SIGKILL" in used["valkey"].ended
    assert left_in(place) == []


# ------------------------------------------------------------------------------ wrong answers


@contextlib.contextmanager
def answering(place: Path, answer: Callable[[bytes], bytes]) -> Iterator[str]:
    """A server on a Unix socket; `answer` has what was received at once. Its URL."""

    class Talk(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(ConnectionError):
                while received := self.request.recv(1 << 16):
                    self.request.sendall(answer(received))

    path = place / "s"
    with socketserver.ThreadingUnixStreamServer(str(path), Talk) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            yield f"unix://{path}"
        finally:
            server.shutdown()
            path.unlink()


def ok_but_wrong(received: bytes) -> bytes:
    """The value of another key for each GET, and OK for all else."""
    is_get = [b"\r\nGET\r\n" in each for each in received.split(b"*")[1:]]
    return b"".join(b"$5\r\nwrong\r\n" if each else b"+OK\r\n" for each in is_get)


NOT_VALKEY = b"HTTP/1.1 400 Bad Request\r\n\r\n"


@pytest.mark.one_build
def test_wrong_answers_and_what_does_not_fit_are_labelled_runs(place: Path) -> None:
    with answering(place, ok_but_wrong) as url:
        asked = {**cell("threads", SIZES | {"cache": "valkey"}), "services": {"valkey": [url]}}
        said = finish(asked).failure.error
    assert "RuntimeError: Valkey answered 'wrong' for the key" in said
    assert "cache needs a valkey: start" in finish({**asked, "services": {}}).failure.error
    for parameters, why in (
        ({"cache": "valkey", "entries": 10}, "raise entries to 1,000 or more"),
        ({"miss": "postgres", "rows": 10}, "100,000 keys need as many rows, and 10 are asked"),
    ):
        with pytest.raises(ValueError, match=why):
            Cache(**parameters).placed(Cell("cache"), 0)  # type: ignore[arg-type]


@pytest.mark.one_build
def test_a_row_of_another_key_is_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wrong(key: int) -> tuple[int, str]:
        return key, "wrong"

    async def look_up() -> str:
        rows = DatabaseValues("postgresql://127.0.0.1:1/none", KEYS, 1)
        monkeypatch.setattr(rows, "fetch", wrong)
        return await rows(6)

    with pytest.raises(RuntimeError, match=r"answered \(7, 'wrong'\) for the row 7"):
        asyncio.run(look_up())


# ------------------------------------------------------------------------------ a user's server


def valkey(place: Path, **variables: str) -> ServiceProcess:
    command = [sys.executable, "-m", "workers.services.valkey", "--entries=2000", "--until-eof"]
    return ServiceProcess("valkey", command, environment(TMPDIR=str(place), **variables))


@pytest.mark.one_build
def test_an_installed_server_is_used_while_it_is_empty_and_is_then_as_it_was(place: Path) -> None:
    theirs = valkey(place)
    try:
        with Valkey.from_url(theirs.urls[0], decode_responses=True) as client:
            client.config_set("maxmemory", "77777777")
            client.config_set("maxmemory-policy", "noeviction")
            ours = valkey(place, **{VALKEY: theirs.urls[0]})
            try:
                assert (ours.urls, ours.usage()) == (theirs.urls, Usage())
                assert ours.facts["installed"] == "yes"
                assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "allkeys-lru"
                client.set("left", "behind")
            finally:
                ours.close()
            assert client.config_get("maxmemory")["maxmemory"] == "77777777"
            assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"
            assert client.dbsize() == 0
            client.set("mine", "dear")
            with pytest.raises(ServiceError, match="holds data, which a study would evict"):
                valkey(place, **{VALKEY: theirs.urls[0]})
            assert client.get("mine") == "dear"
    finally:
        theirs.close()
    assert left_in(place) == []


@pytest.mark.one_build
def test_an_installed_server_that_is_none_is_refused_without_its_name(place: Path) -> None:
    with pytest.raises(ServiceError, match="try its URL with valkey-cli") as raised:
        valkey(place, **{VALKEY: f"valkey://bob:s3cret@127.0.0.1:{free_port()}/0"})
    assert not {"bob", "s3cret"} & set(str(raised.value).replace(":", " ").split())
    with answering(place, lambda _: NOT_VALKEY) as url:
        for each in (url, "http://127.0.0.1:1"):
            with pytest.raises(ServiceError, match=r"cannot be used \(\w+\)"):
                valkey(place, **{VALKEY: each})
