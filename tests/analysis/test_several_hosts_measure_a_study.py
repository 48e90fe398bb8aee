"""A study on several hosts: each measures all of it once, and one that is lost stops no other."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import dask
import distributed
import msgspec
import psutil
import pytest
import trustme
from distributed import Client, Security
from filelock import FileLock

from scaling.base.errors import ScalingError, UsageError
from scaling.cli.commands.run import request_of
from scaling.cli.program import StudyAsked
from scaling.journal.file import FILE_NAME
from scaling.journal.reading import read_lines
from scaling.journal.record import RunLine
from scaling.run import cluster_host
from scaling.run.cluster import connected, hosts_of, kept, require_encryption
from scaling.run.cluster_host import Answer, Request, quiet
from scaling.study.file import read_study, study_from
from tests.support.children import PATIENCE_S, ROOT
from tests.support.cli import BUILD, Command, environment
from tests.support.pages import parsed
from tests.support.waiting import wait_until

pytestmark = pytest.mark.one_build

# A run a block; the address of a cluster follows.
BLOCKS = 8
ASKED = [
    *("run", "--workload", "compute", "--arm", BUILD, "--workers", "1", "--seconds", "0.1"),
    *("--blocks", f"{BLOCKS}", "--no-controls", "--no-aa-pairs", "--output", "out", "--cluster"),
]


class Hosts:
    """A scheduler here, with TLS, and workers with a state of its own each, as a host has."""

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self.folder = folder
        self.variables = {**os.environ, **variables, "TMPDIR": str(folder)}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"tls://127.0.0.1:{port}"
        self._start("scheduler", "scheduler", "--port", str(port))

    def start(self, *labels: str) -> None:
        """Start a worker of each name, and wait until there are that many."""
        for label in labels:
            options = ("--nthreads", "1", "--resources", "host=1", "--no-nanny", "--name", label)
            self._start(label, "worker", self.address, *options)
        count = sum(each.poll() is None for each in self.processes.values()) - 1
        security = Security(require_encryption=True)
        with Client(self.address, security=security, timeout=PATIENCE_S) as client:
            client.wait_for_workers(count, timeout=PATIENCE_S)

    def text(self, label: str) -> bytes:
        """What the journal on a host has, while it is there."""
        journals = (self.folder / label).glob(f"hosts/*/study/{FILE_NAME}")
        return b"".join(each.read_bytes() for each in journals)

    def wait_for_a_run(self, label: str, beside: bytes = b"") -> None:
        """Wait until a host has a run more than it had."""
        count = beside.count(b'"kind":"run"')
        wait_until(lambda: self.text(label).count(b'"kind":"run"') > count)

    def wait_for_rest(self, label: str) -> bytes:
        """Wait until a host measures nothing; what its journal has."""
        worker = self.processes[label]
        own = [worker.pid] if worker.poll() is None else []
        wait_until(lambda: processes_of(self.folder / label) == own)
        return self.text(label)

    def kill(self, label: str) -> None:
        """Kill a process."""
        self.processes[label].kill()
        self.processes[label].wait()

    def _start(self, label: str, kind: str, *arguments: str) -> None:
        own = {"PYTHONPATH": str(ROOT), "SCALING_STATE": str(self.folder / label)}
        command = [sys.executable, "-m", "dask", kind, "--host", "127.0.0.1", "--no-dashboard"]
        self.processes[label] = subprocess.Popen(
            [*command, *arguments],
            env=self.variables | own,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def runs(journal: Path) -> Counter[tuple[int, int]]:
    """Block and attempt of each run."""
    lines = read_lines(journal, pytest.fail)
    return Counter((line.block, line.attempt) for line in lines if isinstance(line, RunLine))


def certificates(folder: Path) -> dict[str, str]:
    """Keys of dask's configuration for TLS, made for the loopback by an authority of our own."""
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    issued.private_key_pem.write_to_path(folder / "key.pem")
    issued.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    own = {
        f"distributed.comm.tls.{role}.{kind}": str(folder / f"{kind}.pem")
        for role in ("client", "scheduler", "worker")
        for kind in ("key", "cert")
    }
    return {"distributed.comm.tls.ca-file": str(folder / "ca.pem"), **own}


def as_variables(keys: Mapping[str, str]) -> dict[str, str]:
    named = {f"DASK_{key.replace('.', '__').replace('-', '_').upper()}": keys[key] for key in keys}
    return {**named, "DASK_DISTRIBUTED__COMM__DEFAULT_SCHEME": "tls"}


@pytest.mark.slow
def test_where_a_host_is_lost_or_the_command_is_interrupted_nothing_is_lost_or_measured_twice(
    tmp_path: Path, command: Command, undrawn: None
) -> None:
    """A host is killed, which costs no other; then the command is interrupted."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored here
    keys = certificates(tmp_path)
    one, two = (tmp_path / "out" / label / FILE_NAME for label in ("one", "two"))
    with dask.config.set(keys):
        cluster = Hosts(tmp_path, as_variables(keys))
        try:
            cluster.start("one", "two")

            def lose_two() -> None:
                cluster.wait_for_a_run("two")
                cluster.kill("two")

            def interrupt() -> None:
                cluster.wait_for_a_run("two", second)
                os.kill(os.getpid(), signal.SIGINT)

            threading.Thread(target=lose_two, daemon=True).start()
            done = command(*ASKED, cluster.address)
            assert done.returncode == 1
            assert re.search(r"^one: \[.*\] block \d of 8 done", done.stdout, re.MULTILINE)
            assert "two: lost (KilledWorker" in done.stdout
            assert "not finished on two: the same command resumes it there" in done.stderr
            assert f"page:   {Path('out', 'report.html')}" in done.stdout
            assert f"tables: {Path('out', 'machines.md')}" in done.stdout
            assert not two.exists()
            assert cluster.text("one") == b"", "left on the host"
            second, whole = cluster.wait_for_rest("two"), one.read_bytes()

            cluster.start("two")
            threading.Thread(target=interrupt, daemon=True).start()
            done = command(*ASKED, cluster.address)
            assert done.returncode == 130
            assert "what was measured is in out. The same command resumes it" in done.stderr
            assert "one: complete, in out/one" in done.stdout
            assert one.read_bytes() == whole
            cluster.wait_for_rest("two")
            assert two.read_bytes().startswith(second)
        finally:
            signal.signal(signal.SIGINT, before)
            for label in cluster.processes:
                cluster.kill(label)
    for journal in (one, two):
        assert set(runs(journal).values()) == {1}, "a run was measured twice"
        assert "127.0.0.1" not in journal.read_text()
        assert str(tmp_path) not in journal.read_text()
    assert {block for block, _ in runs(one)} == set(range(BLOCKS))


def processes_of(state: Path) -> list[int]:
    """The processes of the host with this state."""
    found = []
    for each in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if each.environ().get("SCALING_STATE") == str(state):
                found.append(each.pid)
    return found


def test_a_host_says_why_it_cannot_measure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    idle = MagicMock()  # the worker, which has one task
    idle.state.tasks.__getitem__.return_value.state = "executing"
    monkeypatch.setattr("distributed.get_worker", lambda: idle)
    monkeypatch.setattr(cluster_host, "quiet", lambda _: contextlib.nullcontext())

    def last_line(request: Request) -> str:
        answer = cluster_host.measure(msgspec.json.encode(request).decode())
        return msgspec.json.decode(answer, type=Answer).last_line

    request = Request(["--arm", "3.99"])
    assert "unknown build '3.99'" in last_line(request)
    older = msgspec.structs.replace(request, scaling="0.1")
    assert last_line(older).endswith("0.1 here: install the same")
    with FileLock(tmp_path / "hosts" / "lock"):
        assert "another study is being measured" in last_line(request)
    (folder,) = tmp_path.glob("hosts/*/")
    cluster_host.forget(msgspec.json.encode(request).decode())
    assert not folder.exists()


def test_a_journal_of_another_machine_is_kept_beside(tmp_path: Path) -> None:
    first, longer, other = "one\n", "one\ntwo\n", "three\n"
    places = [kept(text, tmp_path / "lab") for text in (first, longer, other, longer)]
    assert [each.name for each in places] == ["lab", "lab", "lab-2", "lab"]
    assert [(each / FILE_NAME).read_text() for each in places[1:3]] == [longer, other]


def test_what_goes_beyond_this_machine_in_clear_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for place in ("tls://10.0.0.2:8786", "tcp://127.0.0.1:8786", "localhost:1", "tcp://[::1]:1"):
        require_encryption(place, "")
    refused = "is not encrypted and goes beyond this machine"
    for place in ("tcp://10.0.0.2:8786", "lab:8786", "tcp://[fe80::1]:1", "ucx://127.0.0.1:1"):
        with pytest.raises(UsageError, match=refused):
            require_encryption(place, "tls://127.0.0.1:8786")
    # The scheduler's own address is what others use, whatever it is called by us.
    client = MagicMock()
    client.__enter__.return_value = client
    client.scheduler_info.return_value = {"address": "tcp://10.0.0.2:8786", "workers": {}}
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: client)
    with pytest.raises(UsageError, match=refused), connected("tcp://127.0.0.1:8786"):
        pass


def test_workers_with_the_resource_measure_under_their_names() -> None:
    def found(**resources: dict[str, int]) -> dict[str, str]:
        """Of a scheduler that has these workers, by name."""
        known = {
            f"tls://{name}:1": {"name": name, "resources": of} for name, of in resources.items()
        }
        scheduler = SimpleNamespace(address="tls://lab:8786")
        client: Any = SimpleNamespace(
            scheduler=scheduler, scheduler_info=lambda n_workers: {"workers": known}
        )
        return hosts_of(client)

    assert found(one={"host": 1}, spare={}) == {"one": "tls://one:1"}
    with pytest.raises(ScalingError, match="dask worker tls://lab:8786 --name LABEL"):
        found(spare={})
    with pytest.raises(UsageError, match="is no label"):
        found(**{"../one": {"host": 1}})


def test_each_host_is_asked_what_was_asked_here() -> None:
    def asked_of(arguments: list[str]) -> StudyAsked:
        asked: StudyAsked = parsed(["plan", *arguments])["asked"]
        return asked

    arguments = [
        *("--study", "scale", "--workload", "echo,scrape", "--set", "echo.payload_bytes=1,2"),
        *("--arm", "3.14", "--arm", "3.14t", "--workers", "1,2", "--no-aa-pairs", "--alternate"),
        *("--seed", "3", "--with", "one", "--with", "two>=1", "--path", ".", "--pgo"),
    ]
    asked = asked_of(arguments)
    study = study_from(asked.options, running_build="3.14")
    request = request_of(study, asked)
    there = asked_of(request.arguments)
    assert there.of_children == asked.of_children != []
    ((name, text),) = request.files.items()
    assert there.options.study == name
    again = study_from(there.options, running_build="3.13", file=read_study(text, name))
    assert replace(again, source=study.source) == study


def test_the_engine_sends_nothing_but_heartbeats_in_a_window() -> None:
    callbacks = {name: MagicMock() for name in ("heartbeat", "keep-alive", "monitor", "tick")}
    loop = SimpleNamespace(add_callback=lambda call: call())
    with quiet(cast(Any, SimpleNamespace(periodic_callbacks=callbacks, loop=loop))):
        stopped = [name for name, each in callbacks.items() if each.stop.called]
        assert stopped == ["monitor", "tick"]
    assert [name for name, each in callbacks.items() if each.start.called] == stopped
