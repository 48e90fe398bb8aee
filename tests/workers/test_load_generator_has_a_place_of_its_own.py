"""A load generator has CPUs of its own where there are enough, and a ceiling that is known."""

import os
import subprocess
import sys

import pytest

from scaling.journal.record import ParameterValue
from scaling.machine.topology import cpus_of
from scaling.run.services import Services
from scaling.study.services import LOAD_GENERATOR
from tests.support.children import environment
from tests.support.serving import served

pytestmark = pytest.mark.one_build


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
def test_it_is_of_what_the_server_speaks_and_a_connection_for_each_request_is_dearer() -> None:
    """A message of several pieces is one request."""
    kept, mbytes_per_s = ceiling(server="asgi", response_bytes=2_000)
    assert mbytes_per_s == pytest.approx(kept * 2_000 / 1e6, abs=0.1)
    each, _ = ceiling(server="asgi", response_bytes=2_000, keep_alive=False)
    assert 0 < each < kept
    per_s, mbytes_per_s = ceiling(server="tcp", connections=4, response_bytes=1_000_000)
    assert mbytes_per_s == pytest.approx(per_s, abs=0.1)
