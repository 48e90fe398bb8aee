"""The load generator's ceiling is measured against a null server, with a study's parameters."""

import asyncio
import sys

import pytest

from scaling.journal.record import ParameterValue
from scaling.run.service_process import ServiceError
from scaling.run.services import Services
from scaling.study.services import LOAD_GENERATOR
from tests.support.servers import environment, fetch, running_site
from workers.services.null.server import Constant, http_answer, tcp_message

pytestmark = pytest.mark.slow


def null_command(*options: str) -> list[str]:
    return [sys.executable, "-m", "workers.services.null", *options]


def ceiling(**parameters: ParameterValue) -> tuple[float, float]:
    """Requests and MB per second of its CPU time, counted for longer than a machine may stall."""
    with Services(sys.executable, environment()) as services:
        line = services.ceiling(LOAD_GENERATOR, parameters, seconds=0.6)
        services.end(LOAD_GENERATOR)
        assert services._running == {}
    assert line.service == LOAD_GENERATOR
    assert (line.parameters, line.processes) == (parameters, 1)
    assert line.requests_per_s is not None
    assert line.mbytes_per_s is not None
    return line.requests_per_s, line.mbytes_per_s


@pytest.mark.parametrize(
    ("parameters", "response_bytes"),
    [
        ({"server": "tcp", "connections": 4}, 256),
        ({"server": "asgi", "response_bytes": 2_000}, 2_000),
    ],
    ids=["tcp", "http"],
)
def test_it_is_of_what_the_server_speaks_and_a_connection_for_each_request_is_dearer(
    parameters: dict[str, ParameterValue], response_bytes: int
) -> None:
    kept, mbytes_per_s = ceiling(**parameters, keep_alive=True)
    assert mbytes_per_s == pytest.approx(kept * response_bytes / 1e6, abs=0.1)
    each, _ = ceiling(**parameters, keep_alive=False)
    assert 0 < each < kept


def test_a_message_of_several_pieces_is_one_request() -> None:
    per_s, mbytes_per_s = ceiling(server="tcp", connections=2, response_bytes=1_000_000)
    assert mbytes_per_s == pytest.approx(per_s, abs=0.1)


def test_one_that_cannot_be_measured_says_why() -> None:
    with (
        Services(sys.executable, environment()) as services,
        pytest.raises(ServiceError, match=r"'load generator' could not be measured .*got '0'"),
    ):
        services.ceiling(LOAD_GENERATOR, {"server": "tcp", "connections": 0}, seconds=0.2)


def test_the_null_server_gives_every_request_the_same_answer() -> None:
    with running_site("--response-bytes=10", command=null_command) as url:
        for path in ("/", "/else"):
            assert fetch(url + path)[::2] == (200, b"x" * 10)


def test_it_looks_at_no_request() -> None:
    written = []

    class Transport(asyncio.Transport):
        def write(self, data: object) -> None:
            written.append(data)

    connection = Constant(b"answer")
    connection.connection_made(Transport())
    connection.data_received(b"nonsense")
    assert written == [b"answer"]
    assert http_answer(2).endswith(b"Content-Length: 2\r\n\r\nxx")
    assert tcp_message(2) == b"\0\0\0\2xx"
