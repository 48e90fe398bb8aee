"""A load generator has CPUs of its own where there are enough, and a ceiling that is known."""

import asyncio
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from scaling.journal.record import ParameterValue
from scaling.machine.topology import Topology, apart, cpus_of
from scaling.run.service_process import ServiceError
from scaling.run.services import Services
from scaling.study.services import LOAD_GENERATOR
from tests.support.children import environment
from tests.support.machines import TWO_NODES
from tests.support.serving import served
from workers.services.null.__main__ import Constant, http_answer, tcp_message

pytestmark = pytest.mark.one_build


def test_the_generator_has_the_last_core_with_its_siblings_or_the_last_cpu_or_none() -> None:
    assert apart(TWO_NODES, workers=1, generators=1) == ([0, 1, 2, 4, 5, 6], [3, 7])
    assert apart(TWO_NODES, workers=2, generators=2) == ([0, 2, 4, 6], [1, 3, 5, 7])
    assert apart(TWO_NODES, workers=4, generators=1) == ([0, 1, 2, 3, 4, 5, 6], [7])
    assert apart(replace(TWO_NODES, cpu_quota=1.5), workers=1, generators=1) is None
    for affinity in ((3,), None):
        assert apart(replace(TWO_NODES, affinity=affinity), workers=1, generators=1) is None
    two = Topology(logical_cpus=2, physical_cores=2, cores=((0,), (1,)), affinity=(0, 1))
    assert apart(two, workers=1, generators=1) == ([0], [1])
    assert apart(two, workers=2, generators=1) is None


def test_cpus_are_read_back_from_every_thread() -> None:
    mine = sorted(os.sched_getaffinity(0))
    code = f"""if True:
        import os, threading
        os.sched_setaffinity(0, {mine[:1]})
        def moved():
            os.sched_setaffinity(0, {mine[-1:]})
            print(flush=True)
            threading.Event().wait()
        threading.Thread(target=moved, daemon=True).start()
        input()
    """
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        other.stdout.readline()
        assert cpus_of([other.pid]) == sorted({mine[0], mine[-1]})
    assert cpus_of([other.pid]) == []


@pytest.mark.needs("two-cpus")
@pytest.mark.slow
@pytest.mark.parametrize("forbidden", [False, True])
def test_a_run_records_where_both_are(forbidden: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may forbid to move anybody: the fault is read back."""
    everywhere = sorted(os.sched_getaffinity(0))
    places = everywhere[:1], everywhere[-1:]
    if forbidden:
        monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cpus: None)
    load = served("workers.workloads.serve:Serve", apart=places, window_s=0.2).load
    assert load is not None
    found = (load.worker_cpus, load.cpus)
    assert found == ((everywhere, everywhere) if forbidden else places)


def ceiling(**parameters: ParameterValue) -> tuple[float, float]:
    """Requests and MB per second of its CPU time, counted for longer than a machine may stall."""
    with Services(sys.executable, environment()) as services:
        line = services.ceiling(LOAD_GENERATOR, parameters, seconds=0.4)
        services.end(LOAD_GENERATOR)
        assert services._running == {}
    assert line.service == LOAD_GENERATOR
    assert (line.parameters, line.processes) == (parameters, 1)
    assert line.requests_per_s
    assert line.mbytes_per_s
    return line.requests_per_s, line.mbytes_per_s


@pytest.mark.slow
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
    if parameters["server"] == "tcp":  # a message of several pieces is one request
        per_s, mbytes_per_s = ceiling(**parameters, response_bytes=1_000_000)
        assert mbytes_per_s == pytest.approx(per_s, abs=0.1)


@pytest.mark.slow
def test_one_that_cannot_be_measured_says_why() -> None:
    with (
        Services(sys.executable, environment()) as services,
        pytest.raises(ServiceError, match=r"'load generator' could not be measured .*got '0'"),
    ):
        services.ceiling(LOAD_GENERATOR, {"server": "tcp", "connections": 0}, seconds=0.2)


def test_the_server_of_a_ceiling_looks_at_no_request() -> None:
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
