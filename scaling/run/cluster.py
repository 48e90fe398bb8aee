"""One study on the hosts of a cluster of dask.distributed: each measures all of it for itself.

Each host has one task, which returns the lines of its journal (`scaling.run.cluster_host`). A host
that is lost costs no other its answer. What goes beyond this machine is encrypted, with the user's
certificates.
"""

import contextlib
import ipaddress
import logging
import re
import uuid
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from scaling.base.errors import ScalingError, UsageError
from scaling.base.files import whole
from scaling.builds.cache import Say
from scaling.journal.file import FILE_NAME
from scaling.journal.reading import journal_in
from scaling.run import cluster_host
from scaling.run.cluster_host import Answer, Request
from scaling.run.session import InterruptedStudyError

if TYPE_CHECKING:
    from distributed import Client, Future

RESOURCE = "host"  # a task takes one of it, so a worker has one task at a time
LABEL = r"[a-z0-9][a-z0-9-]{0,30}"
START = "dask worker {} --name LABEL --nthreads 1 --resources host=1"
CONNECT_S = 20.0
STOP_S = 60.0  # for hosts to end their runs after Ctrl-C


@contextlib.contextmanager
def connected(address: str) -> Iterator["Client"]:
    """A client of the scheduler at this address, which gives up a task once its worker is lost.

    Raises:
        UsageError: dask.distributed is missing, or something is not encrypted.
        ScalingError: the scheduler cannot be reached.
    """
    require_encryption(address, address)
    try:
        from distributed import Client, Security
    except ImportError:
        raise UsageError("dask.distributed is not installed: pip install distributed") from None
    try:
        security = Security(require_encryption=True) if address.startswith("tls:") else None
        client = Client(address, security=security, timeout=CONNECT_S)
    except TypeError:
        raise UsageError(
            f"--cluster {address}: dask's configuration has no certificates: set "
            "distributed.comm.tls.ca-file, and client.cert and client.key below tls"
        ) from None
    except (OSError, ValueError) as error:
        raise ScalingError(f"--cluster {address}: {error}") from None
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # it is said here
    with client:
        known = client.scheduler_info(n_workers=-1)
        for each in (known["address"], *known["workers"]):
            require_encryption(each, address)
        before = client.run_on_scheduler(_allow_failures, 0)
        try:
            yield client
        finally:
            with contextlib.suppress(OSError, RuntimeError):  # it is gone
                client.run_on_scheduler(_allow_failures, before)


def require_encryption(place: str, address: str) -> None:
    """Refuse a place of the cluster at `address` that is reached in clear beyond this machine.

    Raises:
        UsageError: it is, or it has no port.
    """
    found = re.fullmatch(r"(?:(\w+)://)?\[?([\w.:%-]+?)\]?:\d+", place)
    if found is None:
        raise UsageError(f"--cluster {address}: expected tls://HOST:PORT")
    scheme, host = found[1] or "tcp", found[2]
    is_here = host == "localhost"
    with contextlib.suppress(ValueError):  # a name
        is_here = ipaddress.ip_address(host).is_loopback
    if scheme != "tls" and not (scheme == "tcp" and is_here):
        raise UsageError(
            f"--cluster {address}: {place} is not encrypted and goes beyond this machine. "
            "Start scheduler and workers with --protocol tls and your certificates"
        )


def _allow_failures(failures: int, dask_scheduler: Any) -> int:
    """In the scheduler: how often it starts a task again whose worker was lost (3)."""
    before: int = dask_scheduler.allowed_failures
    dask_scheduler.allowed_failures = failures
    return before


def hosts_of(client: "Client") -> dict[str, str]:
    """The workers that measure: addresses by label, which is the worker's name.

    Raises:
        ScalingError: there is none.
        UsageError: a name cannot be that of a folder.
    """
    workers = client.scheduler_info(n_workers=-1)["workers"]
    offered = {at: facts for at, facts in workers.items() if facts["resources"].get(RESOURCE)}
    hosts = {str(facts["name"]): at for at, facts in offered.items()}
    start = f"Start one on each host: {START.format(client.scheduler.address)}"
    if not hosts:
        raise ScalingError(f"--cluster: no worker has the resource {RESOURCE}=1. {start}")
    for label in hosts:
        if not re.fullmatch(LABEL, label):
            raise UsageError(f"--cluster: {label!r} is no label of a-z, 0-9 and hyphens. {start}")
    return hosts


class Study:
    """A study on hosts: `folder` gets a folder for each, with its journal.

    `found` has these folders by label, `unfinished` the labels of hosts that did not finish.

    Raises:
        UsageError: the folder holds a study of one machine.
    """

    def __init__(self, client: "Client", asked: Request, folder: Path, say: Say) -> None:
        if journal_in(folder):
            raise UsageError(f"{folder} holds a study of one machine: choose another --output DIR")
        folder.mkdir(parents=True, exist_ok=True)
        self.found: dict[str, Path] = {}
        self.unfinished: list[str] = []
        self._client, self._folder, self._say = client, folder, say
        self._asked = msgspec.structs.replace(asked, topic=f"scaling-{uuid.uuid4().hex}")
        self._tasks: dict[Future[str], str] = {}  # labels
        client.subscribe_topic(self._asked.topic, lambda event: say(event[1]))

    def measure(self) -> None:
        """Measure what is missing on every host; say who does not finish.

        Raises:
            UsageError, ScalingError: as `hosts_of`.
            InterruptedStudyError: the user stopped it; what was measured is kept.
        """
        from distributed import as_completed

        hosts = hosts_of(self._client)
        for label, address in hosts.items():
            self._begin(label, address)
        try:
            for task in as_completed(list(self._tasks)):
                self._end(task)
        except KeyboardInterrupt:
            self._stop()
            raise InterruptedStudyError(
                f"interrupted: what was measured is in {self._folder}. The same command resumes it"
            ) from None
        finally:
            here = [hosts[label] for label in self.found]
            with contextlib.suppress(OSError, RuntimeError):  # the scheduler is gone
                self._client.run(cluster_host.forget, self._text(), workers=here, on_error="ignore")

    def _begin(self, label: str, address: str) -> None:
        place = self._folder / label
        journal = _journal(place)
        if journal and not cluster_host.lacks(place):
            self.found[label] = place
            self._say(f"{label}: complete, in {place}")
            return
        task = self._client.submit(
            cluster_host.measure,
            self._text(journal),
            workers=[address],
            allow_other_workers=False,
            resources={RESOURCE: 1},
            pure=False,
            retries=0,
        )
        self._tasks[task] = label
        self._say(f"{label}: measuring")

    def _text(self, journal: str = "") -> str:
        return msgspec.json.encode(msgspec.structs.replace(self._asked, journal=journal)).decode()

    def _end(self, task: "Future[str]") -> None:
        """Keep what came of a task that is over, and say how it ended."""
        label = self._tasks.pop(task)
        if task.status != "finished":
            error = task.exception() if task.status == "error" else None
            lack = f"lost ({type(error).__name__}: {error})" if error else "lost with the scheduler"
        else:
            answer = msgspec.json.decode(task.result(), type=Answer)
            if answer.journal:
                self.found[label] = kept(answer.journal, self._folder / label)
            lack = cluster_host.lacks(self.found.get(label, self._folder / label))
            lack = lack and f"{lack}: {answer.last_line}"
        if lack:
            self.unfinished.append(label)
        self._say(f"{label}: {lack or 'complete'}")

    def _stop(self) -> None:
        from distributed import wait

        self._client.run(cluster_host.stop, self._asked.topic, on_error="ignore")
        with contextlib.suppress(TimeoutError):
            wait(list(self._tasks), timeout=STOP_S)
        for task in list(self._tasks):
            self._end(task)


def _journal(folder: Path) -> str:
    """The journal in a folder; empty without one."""
    file = folder / FILE_NAME
    return file.read_text(encoding="utf-8") if file.exists() else ""


def kept(journal: str, folder: Path) -> Path:
    """Write a journal to this folder, or beside it where that has another; return the folder."""
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
    place = next(each for each in chain([folder], numbered) if journal.startswith(_journal(each)))
    place.mkdir(parents=True, exist_ok=True)
    with whole(place / FILE_NAME) as file:
        file.write_text(journal, encoding="utf-8")
    return place
