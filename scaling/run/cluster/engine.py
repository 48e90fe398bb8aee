"""The cluster: a scheduler of dask.distributed with workers started by ssh, or a user's own.

Ours is on the loopback only, encrypted with keys made for it, and ssh carries it between hosts. A
task that failed is never repeated unnoticed.
"""

import random
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import IO, Any

import msgspec

from scaling.base.errors import ScalingError, UsageError
from scaling.run.cluster.generator import SSH
from scaling.run.cluster.on_host import LABEL
from scaling.run.redaction import LOOPBACK

try:
    import dask
    from distributed import Client, LocalCluster, Security
except ImportError:
    raise UsageError("dask.distributed is not installed: pip install distributed") from None

MODULE = "scaling.run.cluster.worker"
RULES = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.no-workers-timeout": "30s",  # a host that was there, and is gone
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-ttl": "90s",  # a host that is there, and does not answer
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.worker.profile.enabled": False,
}
CONNECT_S = 20.0
START_S = 100.0
REMOTE_PORTS = range(20_000, 32_000)  # below those that Linux gives out


@dataclass(frozen=True)
class Host:
    """A host to start a worker on: by `command`, or with `address`, by ssh.

    `label` is what it is called everywhere; its address is written nowhere.
    """

    label: str
    address: str = ""
    python: str = "python3"
    command: Sequence[str] = field(default=(sys.executable, "-m", MODULE))


@dataclass(frozen=True)
class Cluster:
    """A client of the engine, and the engine's address of each host, by label.

    `absent` has the reason for each host that could not be started.
    """

    client: Client
    addresses: Mapping[str, str]
    absent: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def started(hosts: Sequence[Host]) -> Iterator[Cluster]:
    """A cluster of these hosts, ended when the context is left.

    Raises:
        ScalingError: ssh is not installed.
    """
    security = Security.temporary()
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(RULES))
        cluster = stack.enter_context(
            LocalCluster(
                n_workers=0,
                processes=False,
                host=LOOPBACK,
                protocol="tls://",
                security=security,
                dashboard_address=f"{LOOPBACK}:0",
                silence_logs=50,
            )
        )
        client = stack.enter_context(Client(cluster, security=security))
        port = int(cluster.scheduler_address.rpartition(":")[2])
        starting: dict[str, _Starting] = {}
        for host in hosts:
            starting[host.label] = _Starting(host, port, security)
            stack.callback(starting[host.label].end)
        for each in starting.values():
            stack.callback(each.leave)  # all at once, before any is waited for
        yield _arrived(client, starting)


@contextmanager
def joined(address: str) -> Iterator[Cluster]:
    """A cluster that runs already: the workers of its scheduler that have the resource `host`.

    Raises:
        UsageError: the address is not that of an encrypted one, or two workers have the same name.
        ScalingError: it cannot be reached, or has no such worker.
    """
    if not address.startswith("tls://"):
        raise UsageError(f"--cluster {address}: the address must begin with tls://")
    with dask.config.set(RULES):
        try:
            security = Security(require_encryption=True)
            client = Client(address, security=security, timeout=CONNECT_S)
        except (OSError, TypeError, ValueError) as error:
            raise ScalingError(f"--cluster {address}: {error}") from None
        with client, ExitStack() as stack:
            stack.enter_context(_never_again(client))
            workers = client.scheduler_info(n_workers=-1)["workers"]
            hosts = [key for key, each in workers.items() if each["resources"].get("host")]
            if not hosts:
                raise ScalingError(
                    f"--cluster {address}: none of its workers has the resource host=1. "
                    f"Start one on each host: python -m {MODULE} {address} LABEL"
                )
            names = {key: str(workers[key]["name"]) for key in hosts}  # or else their addresses
            yield Cluster(client, labelled(names))


def labelled(names: Mapping[str, str]) -> dict[str, str]:
    """The address of each worker by label: its name, or by its place `host-2`, if that is free.

    `names` are those of the workers by address.

    Raises:
        UsageError: two have the same name.
    """
    named = [name for name in names.values() if re.match(LABEL, name)]
    labels: dict[str, str] = {}
    for place, (address, name) in enumerate(names.items(), start=1):
        if name in labels:
            raise UsageError(
                f"--cluster: two of its workers are called {name}. Start each with its own LABEL: "
                f"python -m {MODULE} SCHEDULER LABEL"
            )
        by_place = (f"host-{number}" for number in count(place))
        free = (label for label in by_place if label not in {*named, *labels})
        labels[name if name in named else next(free)] = address
    return labels


@contextmanager
def _never_again(client: Client) -> Iterator[None]:
    """While the block runs, a user's scheduler gives up a task that has lost its worker once."""

    def allow(failures: int, dask_scheduler: Any) -> int:  # needs nothing of this project there
        before: int = dask_scheduler.allowed_failures
        dask_scheduler.allowed_failures = failures
        return before

    before = client.run_on_scheduler(allow, 0)
    try:
        yield
    finally:
        with suppress(OSError, RuntimeError):  # it is gone
            client.run_on_scheduler(allow, before)


def _arrived(client: Client, starting: Mapping[str, "_Starting"]) -> Cluster:
    """Wait until each host is there, or will not be."""
    addresses: dict[str, str] = {}
    absent: dict[str, str] = {}
    deadline = time.monotonic() + START_S
    while len(addresses) + len(absent) < len(starting):
        workers = client.scheduler_info(n_workers=-1)["workers"]
        addresses = {str(each["name"]): key for key, each in workers.items()}
        late = f"no answer within {START_S:.0f} s" if time.monotonic() > deadline else None
        for label, each in starting.items():
            if label not in addresses and (why := each.last_words or late):
                absent[label] = why
        time.sleep(0.05)
    return Cluster(client, addresses, absent)


class _Starting:
    """A worker that is being started on a host.

    Raises:
        ScalingError: ssh is not installed.
    """

    def __init__(self, host: Host, scheduler_port: int, security: Security) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        options: dict[str, Any] = {
            "scheduler_ip": f"tls://{LOOPBACK}:{scheduler_port}",
            "name": host.label,
            "security": {
                "require_encryption": True,
                "tls_ca_file": security.tls_ca_file,
                "tls_worker_cert": security.tls_worker_cert,
                "tls_worker_key": security.tls_worker_key,
            },
        }
        command = list(host.command)
        if host.address:
            at_host, scheduler_at_host = random.sample(REMOTE_PORTS, 2)
            with socket.create_server((LOOPBACK, 0)) as free:
                here = free.getsockname()[1]
            command = [
                *(*SSH, "-o", "ExitOnForwardFailure=yes"),
                *("-R", f"{LOOPBACK}:{scheduler_at_host}:{LOOPBACK}:{scheduler_port}"),
                *("-L", f"{LOOPBACK}:{here}:{LOOPBACK}:{at_host}"),
                *(host.address, shlex.join([*shlex.split(host.python), "-m", MODULE])),
            ]
            options |= {
                "scheduler_ip": f"tls://{LOOPBACK}:{scheduler_at_host}",
                "port": at_host,
                "contact_address": f"tls://{LOOPBACK}:{here}",
            }
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                start_new_session=True,  # Ctrl-C is ours alone
            )
        except OSError as error:
            raise ScalingError(f"{command[0]} cannot be started: {error.strerror}") from None
        assert self._process.stdin
        with suppress(BrokenPipeError):  # it has ended: its last words say why
            self._process.stdin.write(msgspec.json.encode(options) + b"\n")
            self._process.stdin.flush()

    def leave(self) -> None:
        """Have it end."""
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def end(self) -> None:
        """Have it end, and wait for it."""
        self.leave()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    @property
    def last_words(self) -> str | None:
        """Why it has ended; None while it runs."""
        if self._process.poll() is None:
            return None
        self._errors.seek(0)
        words = self._errors.read().decode(errors="replace").strip().rpartition("\n")[2]
        return words or f"exit code {self._process.returncode}"
