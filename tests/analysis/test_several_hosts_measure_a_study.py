"""A study on several hosts: each measures all of it once, and one that is lost stops no other."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
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
from scaling.cli.program import Asked
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

pytestmark = pytest.mark.one_build


def asked(blocks: int) -> list[str]:
    """A command that measures a run a block; the address of a cluster follows."""
    return [
        *("run", "--workload", "compute", "--arm", BUILD, "--workers", "1", "--seconds", "0.1"),
        *("--blocks", str(blocks), "--no-controls", "--no-aa-pairs", "--output", "out"),
        "--cluster",
    ]


@dataclass
class Hosts:
    """Workers of a scheduler here, each with a state of its own, as a host has."""

    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    address: str = ""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, label: str, **variables: str) -> None:
        """Start a worker."""
        state = {"SCALING_STATE": str(self.folder / label), **variables}
        options = ("--nthreads", "1", "--resources", "host=1", "--no-nanny")
        self.processes[label] = self._process(
            "worker", self.address, "--name", label, *options, **state
        )

    def start_scheduler(self) -> None:
        """Start the scheduler."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"{'tls' if self.variables else 'tcp'}://127.0.0.1:{port}"
        self.processes["scheduler"] = self._process("scheduler", "--port", str(port))

    def wait(self, count: int) -> None:
        """Wait for so many workers."""
        security = Security(require_encryption=True) if self.variables else None
        with Client(self.address, security=security, timeout=PATIENCE_S) as client:
            client.wait_for_workers(count, timeout=PATIENCE_S)

    def journal(self, label: str) -> Path | None:
        """The journal on a host, while it is there."""
        return next((self.folder / label).glob(f"hosts/*/study/{FILE_NAME}"), None)

    def text(self, label: str) -> bytes:
        """What that has."""
        journal = self.journal(label)
        return journal.read_bytes() if journal else b""

    def _process(self, kind: str, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
        paths = {"PYTHONPATH": str(ROOT), "TMPDIR": str(self.folder)}
        arguments = ("--host", "127.0.0.1", "--no-dashboard", *arguments)
        return subprocess.Popen(
            [sys.executable, "-m", "dask", kind, *arguments],
            env={**os.environ, **self.variables, **paths, **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@contextlib.contextmanager
def hosts(folder: Path, variables: Mapping[str, str] | None = None) -> Iterator[Hosts]:
    """A scheduler, whose processes end with the block."""
    found = Hosts(folder, variables or {})
    try:
        found.start_scheduler()
        yield found
    finally:
        for process in found.processes.values():
            process.kill()
            process.wait()


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


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
def test_a_host_that_is_lost_costs_no_other_and_is_resumed(
    tmp_path: Path, command: Command, undrawn: None
) -> None:
    keys = certificates(tmp_path)
    one, two = (tmp_path / "out" / label / FILE_NAME for label in ("one", "two"))
    with hosts(tmp_path, as_variables(keys)) as cluster, dask.config.set(keys):
        cluster.start("one")
        cluster.start("two")
        cluster.wait(2)
        threading.Thread(target=kill_after_a_run, args=(cluster, "two"), daemon=True).start()
        done = command(*asked(6), cluster.address)
        assert done.returncode == 1
        assert re.search(r"^one: \[.*\] block 1 of 6 done", done.stdout, re.MULTILINE)
        assert "two: lost (KilledWorker" in done.stdout
        assert "not finished on two: the same command resumes it there" in done.stderr
        assert f"page:   {Path('out', 'report.html')}" in done.stdout
        assert {block for block, _ in runs(one)} == set(range(6))
        assert not two.exists()
        assert cluster.journal("one") is None, "left on the host"
        until(lambda: not processes_of(tmp_path / "two"))
        kept, before = cluster.text("two"), one.read_bytes()
        assert b'"kind":"run"' in kept

        cluster.start("two")
        cluster.wait(2)
        done = command(*asked(6), cluster.address)
        assert done.returncode == 0, done.stderr
        assert "one: complete, in out/one" in done.stdout
        assert f"tables: {Path('out', 'machines.md')}" in done.stdout
        assert one.read_bytes() == before
        assert {block for block, _ in runs(two)} == set(range(6))
        assert set(runs(two).values()) == {1}, "a run was measured twice"
        assert two.read_bytes().startswith(kept)
        for text in (one.read_text(), two.read_text()):
            assert "127.0.0.1" not in text
            assert str(tmp_path) not in text


@pytest.mark.slow
def test_hosts_of_a_command_that_is_killed_or_interrupted_stop_and_lose_nothing(
    tmp_path: Path, command: Command
) -> None:
    copy = tmp_path / "out" / "one" / FILE_NAME
    with hosts(tmp_path) as cluster:
        cluster.start("one")
        cluster.wait(1)
        asking = subprocess.Popen(
            [sys.executable, "-m", "scaling", *asked(500), cluster.address],
            cwd=tmp_path,
            env=environment(tmp_path),
        )
        until(lambda: b'"kind":"run"' in cluster.text("one"))
        asking.kill()
        asking.wait()
        until(lambda: processes_of(tmp_path / "one") == [cluster.processes["one"].pid])
        kept = cluster.text("one")

        def interrupt() -> None:
            until(lambda: cluster.text("one").count(b"\n") > kept.count(b"\n"))
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        done = command(*asked(500), cluster.address)
        assert done.returncode == 130
        assert "what was measured is in out. The same command resumes it" in done.stderr
        assert processes_of(tmp_path / "one") == [cluster.processes["one"].pid]
        assert copy.read_bytes().startswith(kept)
        assert set(runs(copy).values()) == {1}, "a run was measured twice"


def kill_after_a_run(cluster: Hosts, label: str) -> None:
    until(lambda: b'"kind":"run"' in cluster.text(label))
    cluster.processes[label].kill()
    cluster.processes[label].wait()


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
    monkeypatch.setattr("distributed.get_worker", IdleWorker)
    monkeypatch.setattr(cluster_host, "quiet", lambda _: contextlib.nullcontext())
    request = Request(["--arm", "3.99"])
    assert "there is no build '3.99'" in answered(request).last_line
    older = msgspec.structs.replace(request, scaling="0.1")
    assert answered(older).last_line.endswith("0.1 here: install the same")
    with FileLock(tmp_path / "hosts" / "lock"):
        assert "another study is being measured" in answered(request).last_line
    (folder,) = tmp_path.glob("hosts/*/")
    cluster_host.forget(encoded(request))
    assert not folder.exists()


class IdleWorker:
    """A worker of the engine that has one task."""

    name = "one"

    def __init__(self) -> None:
        self.state = SimpleNamespace(tasks={"task": SimpleNamespace(state="executing")})

    def get_current_task(self) -> str:
        return "task"

    def log_event(self, topic: str, event: str) -> None:
        """Nobody reads it."""


def answered(request: Request) -> Answer:
    return msgspec.json.decode(cluster_host.measure(encoded(request)), type=Answer)


def encoded(request: Request) -> str:
    return msgspec.json.encode(request).decode()


def test_a_journal_of_another_machine_is_kept_beside(tmp_path: Path) -> None:
    first, longer, other = "one\n", "one\ntwo\n", "three\n"
    places = [kept(text, tmp_path / "lab") for text in (first, longer, other, longer)]
    assert [each.name for each in places] == ["lab", "lab", "lab-2", "lab"]
    assert [(each / FILE_NAME).read_text() for each in places[1:3]] == [longer, other]


@pytest.mark.parametrize(
    "place",
    ["tls://10.0.0.2:8786", "tls://lab:1", "tcp://127.0.0.1:8786", "localhost:1", "tcp://[::1]:1"],
)
def test_what_is_encrypted_or_stays_here_is_used(place: str) -> None:
    require_encryption(place, "")


@pytest.mark.parametrize(
    "place", ["tcp://10.0.0.2:8786", "lab:8786", "tcp://[fe80::1]:1", "ucx://127.0.0.1:1"]
)
def test_what_goes_beyond_this_machine_in_clear_is_refused(place: str, command: Command) -> None:
    with pytest.raises(UsageError, match="is not encrypted and goes beyond this machine"):
        require_encryption(place, "tls://127.0.0.1:8786")


def test_a_scheduler_that_others_reach_in_clear_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own address is what others use, whatever it is called by us."""
    known = {"address": "tcp://10.0.0.2:8786", "workers": {}}
    client = MagicMock()
    client.__enter__.return_value = client
    client.scheduler_info.return_value = known
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: client)
    refused = pytest.raises(UsageError, match=r"tcp://10\.0\.0\.2:8786 is not encrypted")
    with refused, connected("tcp://127.0.0.1:8786"):
        pass


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tcp://one:8786"], "tcp://one:8786 is not encrypted and goes beyond this machine"),
        (["one"], "--cluster one: expected tls://HOST:PORT"),
        (["tls://127.0.0.1:1"], "dask's configuration has no certificates"),
        (["tls://one:1", "--study", "scal"], "Did you mean"),
        (["tls://one:1", "--postgres", "postgresql://b"], "Set SCALING_POSTGRES on each host"),
        (["tls://one:1", "--valkey", "valkey://b"], "Set SCALING_VALKEY on each host"),
    ],
)
def test_bad_usage_is_one_line(arguments: list[str], message: str, command: Command) -> None:
    done = command("run", "--cluster", *arguments)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert message in line


def test_without_the_engine_it_says_what_to_install(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = command("run", "--cluster", "tls://one:1")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "pip install distributed" in line


def workers(**resources: dict[str, int]) -> Any:
    """A client of a scheduler that has these workers, by name."""
    known = {f"tls://{name}:1": {"name": name, "resources": of} for name, of in resources.items()}
    scheduler = SimpleNamespace(address="tls://lab:8786")
    return SimpleNamespace(scheduler=scheduler, scheduler_info=lambda n_workers: {"workers": known})


def test_workers_with_the_resource_measure_under_their_names() -> None:
    assert hosts_of(workers(one={"host": 1}, spare={})) == {"one": "tls://one:1"}
    with pytest.raises(ScalingError, match="dask worker tls://lab:8786 --name LABEL"):
        hosts_of(workers(spare={}))
    with pytest.raises(UsageError, match="is no label"):
        hosts_of(workers(**{"../one": {"host": 1}}))


def test_each_host_is_asked_what_was_asked_here() -> None:
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


def asked_of(arguments: list[str]) -> Asked:
    """What a command with the options of a study gets."""
    asked: Asked = parsed(["plan", *arguments])["asked"]
    return asked


def test_the_engine_sends_nothing_but_heartbeats_in_a_window() -> None:
    callbacks = {name: Callback() for name in ("heartbeat", "keep-alive", "monitor", "tick")}
    loop = SimpleNamespace(add_callback=lambda call: call())
    worker: Any = SimpleNamespace(periodic_callbacks=callbacks, loop=loop)
    with quiet(worker):
        assert [name for name in callbacks if callbacks[name].running] == [
            "heartbeat",
            "keep-alive",
        ]
    assert all(each.running for each in callbacks.values())


class Callback:
    """What the engine does at an interval."""

    running = True

    def start(self) -> None:
        self.running = True

    def stop(self) -> None:
        self.running = False
