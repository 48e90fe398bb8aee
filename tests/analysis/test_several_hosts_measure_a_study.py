"""A study on several hosts: each measures all of it once, and one that is lost stops no other."""

import os
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import msgspec
import psutil
import pytest

from scaling.base.errors import UsageError
from scaling.journal.beside import folders_of
from scaling.journal.reading import read_lines
from scaling.journal.record import RunLine, encode_line
from scaling.run.cluster import engine, on_host
from scaling.run.cluster.engine import Host, joined, labelled, started
from scaling.run.cluster.measure import JournalCopy, differences, measure_on_hosts, same_machines
from scaling.run.cluster.on_host import Event, Request, idle
from scaling.run.measure import ChildNeeds
from scaling.study.definition import Options
from tests.support.cli import BUILD, Command
from tests.support.studies import FakeStudy

pytestmark = pytest.mark.one_build

LABELS = ("host-1", "host-2")
SMALL = Options(
    workload=("compute",),
    arm=[BUILD],
    workers=["1"],
    seconds="0.1",
    blocks="2",
    controls=False,
    aa_pairs=False,
)


def asked(results: str, label: str) -> Request:
    return Request.of(SMALL, ChildNeeds(), results, label)


def host(label: str, state: Path) -> Host:
    """One of the processes here that stand for hosts: each has a state, so an id, of its own."""
    command = [sys.executable, "-m", "scaling.run.cluster.worker"]
    return Host(label, command=["env", f"SCALING_STATE={state / label}", *command])


def measured(folder: Path) -> Counter[tuple[int, int]]:
    """Block and attempt of each run."""
    lines = read_lines(folder / "journal.jsonl", pytest.fail)
    return Counter((line.block, line.attempt) for line in lines if isinstance(line, RunLine))


@pytest.mark.slow
def test_a_host_that_is_killed_stops_no_other_and_is_resumed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    said: list[str] = []
    with started([host(label, tmp_path) for label in LABELS]) as cluster:
        address = cluster.addresses["host-2"]
        (pid,) = cluster.client.run(os.getpid, workers=[address]).values()
        cluster.client.run(say_no_more_after_a_run, workers=[address])
        threading.Thread(target=kill_after_a_run, args=(pid, out / "host-2"), daemon=True).start()
        hosts = measure_on_hosts(cluster, asked, out, said.append).hosts
    assert [hosts[label].state for label in LABELS] == ["complete", "lost"]
    assert any("host-2: lost: the host ended, or was cut off" in line for line in said)
    before = {label: (out / label / "journal.jsonl").read_bytes() for label in LABELS}
    assert measured(out / "host-2")

    with started([host(label, tmp_path) for label in LABELS[1:]]) as cluster:
        hosts = measure_on_hosts(cluster, asked, out, said.append).hosts
    assert [hosts[label].state for label in LABELS] == ["complete"] * 2
    for label in LABELS:
        runs = measured(out / label)
        assert {block for block, _ in runs} == {0, 1}
        assert set(runs.values()) == {1}, "a run was measured twice"
        assert (out / label / "journal.jsonl").read_bytes().startswith(before[label])
    assert (out / "host-1" / "journal.jsonl").read_bytes() == before["host-1"]
    text = (out / "hosts.json").read_text()
    assert "127.0.0.1" not in text
    assert folders_of(out) == [out / label for label in LABELS]


@pytest.mark.slow
def test_a_scheduler_of_ones_own_is_joined(tmp_path: Path) -> None:
    with started([host("lab", tmp_path)]) as cluster:
        security, address = cluster.client.security, cluster.client.scheduler.address
        keys = {
            "distributed.comm.tls.ca-file": security.tls_ca_file,
            "distributed.comm.tls.client.cert": security.tls_client_cert,
            "distributed.comm.tls.client.key": security.tls_client_key,
        }
        cluster.client.run_on_scheduler(allow_failures, 3)
        with dask.config.set(keys), joined(address) as found:
            assert found.addresses == cluster.addresses
            assert found.client.run_on_scheduler(allowed_failures) == 0
        assert cluster.client.run_on_scheduler(allowed_failures) == 3  # as others have it
        pids = [os.getpid(), *cluster.client.run(os.getpid).values()]
        assert {ip for pid in pids for ip in listening(pid)} == {"127.0.0.1"}


def listening(pid: int) -> set[str]:
    found = psutil.Process(pid).net_connections("tcp")
    return {each.laddr.ip for each in found if each.status == psutil.CONN_LISTEN}


def allowed_failures(dask_scheduler: Any) -> int:
    failures: int = dask_scheduler.allowed_failures
    return failures


def allow_failures(failures: int, dask_scheduler: Any) -> None:
    dask_scheduler.allowed_failures = failures


def say_no_more_after_a_run() -> None:
    """On a host: it does not end by itself, however late the one who kills it is."""
    send = on_host._send

    def once(worker: Any, topic: str, event: Event) -> None:
        send(worker, topic, event)
        if '"kind":"run"' in event.journal:
            threading.Event().wait()

    on_host._send = once


def kill_after_a_run(pid: int, folder: Path) -> None:
    file = folder / "journal.jsonl"
    while not file.exists() or b'"kind":"run"' not in file.read_bytes():
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)


def test_a_copy_is_the_first_part_of_the_original(tmp_path: Path) -> None:
    with JournalCopy(tmp_path) as copy:
        copy.add("one\ntwo\n")
        copy.add("three\n")
        assert (copy.text, copy.size_bytes) == ("one\ntwo\nthree\n", 14)
    with (tmp_path / "journal.jsonl").open("a") as file:
        file.write("torn")
    with JournalCopy(tmp_path) as copy:
        assert copy.text == "one\ntwo\nthree\n"
        assert copy.size_bytes == 14
        copy.add("torn, and whole\n")
        with pytest.raises(UsageError, match="is being written by another command right now"):
            JournalCopy(tmp_path)
    with (tmp_path / "another").open("wb"):  # takes the number of the descriptor
        copy.add("late\n")
    assert (tmp_path / "another").read_bytes() == b""
    assert (tmp_path / "journal.jsonl").read_text().endswith("three\ntorn, and whole\n")


def test_a_copy_knows_its_study(tmp_path: Path) -> None:
    with JournalCopy(tmp_path) as copy:
        assert (copy.fingerprint, copy.runs) == (None, 0)
        lines = FakeStudy(blocks=1, workers=(1, 2)).lines
        copy.add(b"".join(map(encode_line, lines)).decode())
        assert copy.runs == 2


def test_differences_are_said_before_anything_runs() -> None:
    first = FakeStudy(arms=("3.14t",)).first_line
    arm = first.arms["3.14t"]
    assert arm.description is not None
    older = msgspec.structs.replace(arm.description.python, version="3.14.5")
    described = msgspec.structs.replace(arm.description, python=older)
    other = msgspec.structs.replace(
        first, scaling="0.0.1", arms={"3.14t": msgspec.structs.replace(arm, description=described)}
    )
    assert list(differences({"a": first, "b": first})) == []
    (line,) = differences({"a": first, "b": other})
    assert line.startswith("b differs from a in: scaling (0.0.1, not ")
    assert f"3.14t version (3.14.5, not {arm.description.python.version})" in line
    assert list(same_machines({"a": first, "b": other})) == [["a", "b"]]


def test_a_request_is_json_and_names_no_path_of_ours(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[[workloads]]\nname = "compute"\n')
    options = Options(study=str(file), workers=["1,2"])
    text = msgspec.json.encode(Request.of(options, ChildNeeds(), "0" * 32, "a"))
    request = msgspec.json.decode(text, type=Request)
    assert request.options.study == "mine.toml"
    assert request.asked.workers == (1, 2)
    assert [each.name for each in request.asked.workloads] == ["compute"]
    assert str(tmp_path) not in text.decode()
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text.replace(b'"label":"a"', b'"label":"../../a"'), type=Request)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hosts", "a,a"], "--hosts a: named twice. Name each label and host once"),
        (["--hosts", "a=-oProxyCommand"], "expected a host that ssh knows"),
        (["--hosts", "A B=one"], "a label has only a-z, 0-9 and hyphens"),
        (["--hosts", "a", "--cluster", "tls://b:1"], "--hosts and --cluster: give one of them"),
        (["--cluster", "tcp://one:8786"], "the address must begin with tls://"),
        (["--hosts", "a", "--study", "scal"], "Did you mean"),
        (["--hosts", "a", "--load-from", "b"], "one host cannot load several"),
        (["--hosts", "a", "--postgres", "postgresql://b"], "Set SCALING_POSTGRES on each host"),
        (["--hosts", "a", "--valkey", "valkey://b"], "Set SCALING_VALKEY on each host"),
    ],
)
def test_bad_usage_is_one_line(arguments: list[str], message: str, command: Command) -> None:
    done = command("run", *arguments)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert message in line


def test_no_two_workers_of_a_cluster_have_one_label() -> None:
    names = {"tls://a": "tls://a", "tls://b": "lab", "tls://c": "tls://c", "tls://d": "host-1"}
    assert labelled(names) == {
        "host-2": "tls://a",
        "lab": "tls://b",
        "host-3": "tls://c",
        "host-1": "tls://d",
    }
    with pytest.raises(UsageError, match="two of its workers are called lab"):
        labelled(names | {"tls://e": "lab"})


def test_the_engine_sends_nothing_but_heartbeats_in_a_window() -> None:
    callbacks = {name: Callbacks() for name in ("heartbeat", "keep-alive", "monitor", "tick")}
    loop = SimpleNamespace(add_callback=lambda call, *arguments: call(*arguments))
    with idle(SimpleNamespace(periodic_callbacks=callbacks, loop=loop)):
        assert [name for name, each in callbacks.items() if each.running] == [
            "heartbeat",
            "keep-alive",
        ]
    assert all(each.running for each in callbacks.values())


class Callbacks:
    """What the engine does at an interval."""

    running = True

    def start(self) -> None:
        self.running = True

    def stop(self) -> None:
        self.running = False


def test_without_the_engine_it_says_what_to_install(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, engine.__name__)
    done = command("run", "--hosts", "one")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "pip install distributed" in line
