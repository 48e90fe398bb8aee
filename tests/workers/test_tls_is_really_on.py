"""`echo` with `tls` uses TLS 1.3 with a verified certificate, on every API.

`test_child_shuts_down_cleanly.py` runs it in threads, processes and sub-interpreters.
"""

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.support.children import PATIENCE_S, ROOT, Own
from workers import Worker
from workers.cell import SHARING
from workers.describe import Isolation, load_choices, refusals
from workers.host.models import MODELS
from workers.workloads.echo import Echo, Ends
from workers.workloads.parts import tls

pytestmark = [pytest.mark.slow, pytest.mark.one_build]


@contextlib.asynccontextmanager
async def at_work(index: int = 0, **parameters: Any) -> AsyncIterator[tuple[Echo, Worker]]:
    """An echo with its connections open; its traffic is for the block to run."""
    worker = Worker(index, 2, {})
    echo = Echo(**{"connections": 2, **parameters})
    echo.load()
    async with asyncio.timeout(PATIENCE_S):
        await echo.setup(worker)
        try:
            yield echo, worker
        finally:
            await echo.teardown(worker)


def ends_of(echo: Echo) -> Ends:
    assert echo._ends
    return echo._ends


PAYLOAD = (bytes(range(256)) * 4)[:1024]


@pytest.mark.parametrize("api", ["protocol", "buffered", "streams"])
@pytest.mark.parametrize("way", ["off", "per-worker"])
def test_who_does_not_speak_tls_gets_an_echo_only_where_it_is_off(api: str, way: str) -> None:
    async def talk() -> bytes:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # a handshake that failed
        async with at_work(api=api, tls=way) as (echo, _):
            reader, writer = await asyncio.open_connection(*ends_of(echo).address)
            writer.write(PAYLOAD)
            answer = b""
            with contextlib.suppress(ConnectionError):
                answer = await reader.read(65_536)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            return answer

    answer = asyncio.run(talk())
    assert (answer == PAYLOAD) == (PAYLOAD[:16] in answer) == (way == "off")


def test_nothing_older_is_spoken_and_no_other_certificate_trusted() -> None:
    contexts, others = tls.new_contexts(), ssl.create_default_context()
    old, trusting = (ssl.create_default_context(cadata=tls.certificate()[0]) for _ in range(2))
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert contexts.client.verify_mode is ssl.CERT_REQUIRED
    assert contexts.client.check_hostname

    async def refused(client: ssl.SSLContext, name: str) -> str:
        async with at_work(tls="per-worker") as (echo, _):
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)
            address = ends_of(echo).address
            with pytest.raises((ssl.SSLError, ConnectionResetError)) as error:
                await asyncio.open_connection(*address, ssl=client, server_hostname=name)
            return str(error.value)

    asyncio.run(refused(old, "127.0.0.1"))
    assert "certificate verify failed" in asyncio.run(refused(others, "127.0.0.1"))
    assert "IP address mismatch" in asyncio.run(refused(trusting, "127.0.0.2"))


def test_contexts_are_each_workers_own_or_one_for_all() -> None:
    async def contexts(way: str, index: int) -> tls.Contexts:
        async with at_work(index, tls=way) as (echo, _):
            assert echo._contexts
            return echo._contexts

    own = [asyncio.run(contexts("per-worker", index)) for index in range(2)]
    assert own[0].server is not own[1].server
    assert own[0].client is not own[1].client
    one, other = (asyncio.run(contexts("shared", index)) for index in range(2))
    assert one == other
    assert one.server not in {each.server for each in own}


def test_without_tls_nothing_of_it_is_imported_and_what_makes_a_certificate_never_is(
    own: Own,
) -> None:
    source = """
        from workers.workloads.echo import Echo
        NAMES = {"workers.workloads.parts.tls", "tempfile", "trustme", "cryptography"}
        class Theirs(Echo):
            def facts(self) -> dict[str, str]:
                brought = NAMES & set(sys.modules)
                return super().facts() | {"brought": " ".join(sorted(brought))}
        """
    assert own.measured(source).facts["brought"] == ""
    brought = own.measured(source, parameters={"tls": "per-worker"}).facts["brought"]
    assert "workers.workloads.parts.tls" in brought
    assert not {"trustme", "cryptography"} & set(brought.split())


def test_the_plan_knows_who_cannot_share_a_context_and_which_loop_has_no_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And where no certificate can be made."""

    def refused() -> list[dict[str, Any]]:
        loops, path = ["asyncio", "uvloop", "rloop"], "workers.workloads.echo:Echo"
        with Isolation(["asyncio"]) as isolation:
            return refusals(path, Echo, loops, load_choices(Echo), isolation)

    def reasons(found: list[dict[str, Any]], **parameters: str) -> dict[tuple[str, str], str]:
        asked = [each for each in found if each["parameters"] == parameters]
        return {(each["model"], each["loop"]): each["reason"] for each in asked}

    unshared = "workers of this model share nothing; only threads do"
    others = product((model for model in MODELS if model not in SHARING), ("asyncio", "uvloop"))
    rloop = {(model, "rloop"): "rloop has no TLS" for model in MODELS}
    planned = refused()
    assert reasons(planned, tls="per-worker") == rloop
    assert reasons(planned, tls="shared") == rloop | dict.fromkeys(others, unshared)
    (tmp_path / "trustme.py").write_text("raise ModuleNotFoundError('no trustme here')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (tmp_path, ROOT))))
    tls.certificate.cache_clear()
    why = "no certificate could be made: ModuleNotFoundError: no trustme here"
    planned = refused()
    found = reasons(planned, tls="per-worker")
    assert found["threads", "asyncio"] == f"CertificateError: {why}"
    assert found["interpreters", "asyncio"] == f"does not load in a sub-interpreter: {why}"
    assert reasons(planned) == {}
