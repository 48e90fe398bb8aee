"""A load generator has CPUs of its own or a host of its own, and a ceiling that is known."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.base.errors import ScalingError, UsageError
from scaling.journal.record import Load, ParameterValue
from scaling.machine.topology import Topology, apart, cpu_order, cpus_of, pinning
from scaling.run.cluster.generator import MODULE, reached, ready
from scaling.run.load import Elsewhere, Generator, GeneratorProgram
from scaling.run.service_process import ServiceError
from scaling.run.services import Services
from scaling.study.services import LOAD_GENERATOR
from tests.support.children import ROOT, environment
from tests.support.machines import TWO_NODES
from tests.support.serving import WARMUP_S, load_asked, program, served
from workers.services.load.coordinator import checked_instants
from workers.services.null.__main__ import Constant, http_answer, tcp_message

pytestmark = pytest.mark.one_build


def test_the_generator_has_the_last_core_with_its_siblings_or_the_last_cpu_or_none() -> None:
    assert apart(TWO_NODES, workers=1, generators=1) == ([0, 1, 2, 4, 5, 6], [3, 7])
    assert apart(TWO_NODES, workers=2, generators=2) == ([0, 2, 4, 6], [1, 3, 5, 7])
    assert apart(TWO_NODES, workers=4, generators=1) == ([0, 1, 2, 3, 4, 5, 6], [7])
    assert apart(replace(TWO_NODES, cpu_quota=1.5), workers=1, generators=1) is None
    for affinity in ((3,), None):
        assert apart(replace(TWO_NODES, affinity=affinity), workers=1, generators=1) is None


def test_on_two_cores_one_worker_has_one_of_its_own_and_two_share() -> None:
    two = Topology(logical_cpus=2, physical_cores=2, cores=((0,), (1,)), affinity=(0, 1))
    assert apart(two, workers=1, generators=1) == ([0], [1])
    assert apart(two, workers=2, generators=1) is None


@given(st.integers(1, 9), st.integers(1, 4), st.sets(st.integers(0, 7), min_size=1))
def test_no_worker_is_pinned_to_a_cpu_of_the_generator(
    workers: int, generators: int, affinity: set[int]
) -> None:
    where = replace(TWO_NODES, affinity=tuple(sorted(affinity)))
    places = apart(where, workers, generators)
    if places is None:
        assert workers + generators > len(affinity)
        return
    pinned = {cpu for (cpu,) in pinning(cpu_order(where), workers)}
    assert pinned <= set(places.workers)
    assert set(places.workers) | set(places.generator) == affinity
    assert not set(places.workers) & set(places.generator)
    assert len(places.generator) >= generators


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


needs_two = pytest.mark.needs("two-cpus")


def loaded(cpus: tuple[list[int], list[int]]) -> Load:
    ending = served("workers.workloads.serve:Serve", apart=cpus)
    assert ending.load is not None, ending
    return ending.load


@needs_two
@pytest.mark.slow
def test_a_run_records_where_both_were() -> None:
    first, *_, last = sorted(os.sched_getaffinity(0))
    load = loaded(([first], [last]))
    assert (load.worker_cpus, load.cpus) == ([first], [last])


@needs_two
@pytest.mark.slow
def test_a_generator_that_is_elsewhere_is_read_back_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault: nobody is moved, as where a container forbids it."""
    everywhere = sorted(os.sched_getaffinity(0))
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cpus: None)
    load = loaded((everywhere[:1], everywhere[-1:]))
    assert load.worker_cpus == load.cpus == everywhere


DAY_S = 86_400


LOAD = (sys.executable, "-m", "workers.services.load")


OTHER_CLOCK = ("unshare", "--time", f"--monotonic={DAY_S}", "--fork", "--kill-child")


def permitted(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture
def another_host() -> Iterator[tuple[list[str], str]]:
    """What starts a program there, and the address at which it reaches us."""
    name = f"load{os.getpid()}"
    net = os.getpid() % 250
    ours, theirs = f"10.231.{net}.1", f"10.231.{net}.2"
    inside = ("ip", "netns", "exec", name)
    commands = (
        ("ip", "link", "add", f"v{name}", "type", "veth", "peer", "name", "peer", "netns", name),
        ("ip", "addr", "add", f"{ours}/24", "dev", f"v{name}"),
        ("ip", "link", "set", f"v{name}", "up"),
        (*inside, "ip", "addr", "add", f"{theirs}/24", "dev", "peer"),
        (*inside, "ip", "link", "set", "peer", "up"),
    )
    if not permitted("ip", "netns", "add", name):
        yield [], "127.0.0.2"
        return
    try:
        linked = all(permitted(*command) for command in commands)
        clock = OTHER_CLOCK if permitted(*OTHER_CLOCK, "true") else ()
        yield ([*inside, *clock], ours) if linked else ([], "127.0.0.2")
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def there(command: list[str], address: str) -> GeneratorProgram:
    elsewhere = Elsewhere(command=["env", f"PYTHONPATH={ROOT}", *command, *LOAD], address=address)
    return GeneratorProgram(python="", environment={}, elsewhere=elsewhere)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, list[int]]]:
    """The documents that load generators are sent. No generator is started."""
    documents: list[dict[str, list[int]]] = []
    monkeypatch.setattr(Generator, "_send", lambda _, document: documents.append(document))
    return documents


def test_a_generator_elsewhere_is_told_how_long_it_is_until_each_instant(
    sent: list[dict[str, list[int]]],
) -> None:
    before_ns = time.monotonic_ns()
    instants_ns = [before_ns + 10**9, before_ns + 3 * 10**9]
    for generators in (program(), there([], "127.0.0.2")):
        Generator(generators, load_asked(1), WARMUP_S).begin(instants_ns)
    after_ns = time.monotonic_ns()
    here, elsewhere = sent
    assert here == {"instants_ns": instants_ns}
    assert elsewhere.keys() == {"in_ns"}
    for instant_ns, in_ns in zip(instants_ns, elsewhere["in_ns"], strict=True):
        assert before_ns <= instant_ns - in_ns <= after_ns


def test_what_comes_as_so_long_from_now_is_by_the_clock_of_who_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theirs_ns = time.monotonic_ns() + 10**12
    clock = SimpleNamespace(monotonic_ns=lambda: theirs_ns)
    monkeypatch.setattr("workers.services.load.coordinator.time", clock)
    in_ns = [10**9, 3 * 10**9]
    instants_ns = [theirs_ns + each for each in in_ns]
    assert checked_instants({"in_ns": in_ns}) == instants_ns
    assert checked_instants({"instants_ns": instants_ns}) == instants_ns
    with pytest.raises(ValueError, match="has passed"):
        checked_instants({"in_ns": [-2, -1]})


@pytest.mark.slow
def test_it_sends_the_load_of_the_window_by_its_own_clock(
    another_host: tuple[list[str], str],
) -> None:
    command, address = another_host
    ending = served(
        "serve", generators=there(command, address), workers=2, address=address, window_s=0.5
    )
    assert ending.outcome == "measured", ending.stderr
    load = ending.load
    assert load
    assert load.elsewhere
    assert load.cpus is None
    assert load.errors == {}
    assert load.offered == 100  # 200 a second, at a constant pace
    assert sum(load.latency.count) == load.completed > 0
    assert load.completed + sum(load.unfinished.count) == load.offered
    assert max(load.latency.value_ns) < DAY_S * 1e9 / 2  # one host's clock throughout


@pytest.mark.slow
def test_a_host_is_made_ready_before_a_study() -> None:
    build = f"3.{sys.version_info.minor}"
    command = [sys.executable, "-m", MODULE, build, "child"]
    found = ready(["env", f"PYTHONPATH={ROOT}", *command], address="127.0.0.2")
    assert found.address == "127.0.0.2"
    assert found.cores >= 1
    with pytest.raises(ScalingError, match="IPv4 only"):
        ready(["env", f"PYTHONPATH={ROOT}", *command], address="::1")
    with pytest.raises(ScalingError, match=r"there is no build '3\.99'"):
        ready([sys.executable, "-m", MODULE, "3.99", "child"])


def test_a_host_is_named_as_ssh_knows_it() -> None:
    with pytest.raises(UsageError, match="expected a host that ssh knows"):
        reached("-oProxyCommand=x", "python3")


def test_a_command_listens_on_the_loopback_only() -> None:
    ending = served(
        "workers.workloads.app:App",
        generators=there([], "127.0.0.2"),
        address="127.0.0.2",
        parameters={"application": "x:y", "server": "uvicorn"},
    )
    assert ending.outcome != "measured"
    assert "a command listens on 127.0.0.1 only, not on (hidden)" in ending.stderr


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


@pytest.mark.slow
def test_a_message_of_several_pieces_is_one_request() -> None:
    per_s, mbytes_per_s = ceiling(server="tcp", connections=2, response_bytes=1_000_000)
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
