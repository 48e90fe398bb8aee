"""A study measured on every host of a cluster, each for itself; their journals are copied here.

If a host is lost, the others go on. The same command measures what is missing: each host has its
own journal, and what it has is not measured again.
"""

import contextlib
import os
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from scaling.base.errors import ScalingError, UsageError
from scaling.base.formats import listed
from scaling.builds.cache import Say
from scaling.journal.beside import HOSTS_FILE, Hosts, Standing, State
from scaling.journal.file import FILE_NAME, opened_alone
from scaling.journal.reading import UNREADABLE, journal_in
from scaling.journal.record import StudyLine, decode_head, decode_line
from scaling.run.cluster import on_host
from scaling.run.cluster.engine import Cluster
from scaling.run.cluster.on_host import RESOURCES, Event, Request
from scaling.run.session import InterruptedStudyError

if TYPE_CHECKING:
    from distributed import Client, Future

SILENT_S = 300.0  # a run takes less, unless it hangs
STOP_S = 30.0  # for hosts to end their runs after Ctrl-C
LOOK_S = 0.2  # between two looks at hosts that are busy
OF_A_BUILD = ("version", "compiler", "pgo", "lto", "openssl")


def measure_on_hosts(
    cluster: Cluster, ask: Callable[[str, str], Request], folder: Path, say: Say
) -> Hosts:
    """Measure what remains on every host; return how far each is.

    `ask` makes the request with the id of the results, for the host of a label.

    Raises:
        UsageError: the folder cannot be used, or two of the hosts are one machine.
        InterruptedStudyError: the user stopped it; what was measured is kept.
    """
    found = _opened(folder)
    for label, why in cluster.absent.items():
        say(f"{label}: not reached: {why}")
        known = found.hosts.get(label, Standing(state="absent"))
        found.hosts[label] = msgspec.structs.replace(known, state="absent")
    with ExitStack() as stack:
        hosts = []
        for label, address in cluster.addresses.items():
            copy = stack.enter_context(JournalCopy(folder / label))
            hosts.append(_Host(cluster.client, ask(found.results, label), address, copy, say))
        try:
            _stop_drivers(cluster, found)  # of a command that was killed
            _measure(hosts, say)
        except KeyboardInterrupt:
            raise InterruptedStudyError(
                f"interrupted: what each host has measured is in {folder}. "
                f"The same command goes on from there"
            ) from None
        finally:
            if _busy(hosts):
                _stop_drivers(cluster, found)
                _wait(hosts, time.monotonic() + STOP_S)
            found.hosts |= {host.label: host.standing for host in hosts}
            HOSTS_FILE.write(folder, found)
    return found


def _opened(folder: Path) -> Hosts:
    """What a results folder says of its hosts so far; it gets its id if it is new."""
    if journal_in(folder):
        raise UsageError(
            f"{folder} holds a study of one machine. Choose another folder with --output DIR"
        )
    hosts = HOSTS_FILE.read(folder) or Hosts()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from None
    HOSTS_FILE.write(folder, hosts)
    return hosts


def _stop_drivers(cluster: Cluster, known: Hosts) -> None:
    """Have every host end its run, and keep what it has sent."""
    addresses = [*cluster.addresses.values()]
    cluster.client.run(on_host.stop, known.results, workers=addresses, on_error="ignore")


def _measure(hosts: "Collection[_Host]", say: Say) -> None:
    """Prepare every host, say in what they differ, and measure on those that are prepared.

    Raises:
        UsageError: two of them are one machine.
        ScalingError: what a host has sent cannot be written.
    """
    for host in hosts:
        host.prepare()
    _wait(hosts)
    heads = {host.label: host.head for host in hosts if host.head}
    for labels in same_machines(heads):
        raise UsageError(
            f"{' and '.join(labels)} are one machine, and would disturb each other. "
            f"Name only one of them"
        )
    for line in differences(heads):
        say(line)
    for host in hosts:
        if host.head:
            host.measure()
    _wait(hosts)
    for host in hosts:
        if host.error:
            raise host.error


def _wait(hosts: "Collection[_Host]", until: float = float("inf")) -> None:
    """Wait until no host is busy, or until then by the monotonic clock."""
    while (busy := _busy(hosts)) and time.monotonic() < until:
        time.sleep(LOOK_S)
        for host in busy:
            host.look()


def _busy(hosts: "Collection[_Host]") -> "list[_Host]":
    return [host for host in hosts if host.is_busy]


class JournalCopy:
    """The copy of a host's journal: always the first part of the original.

    It is open, and this process alone writes to it; whatever it gets is on disk when it returns.
    `size_bytes` is where the host has to go on. What a torn line had is sent again.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._file = os.fdopen(opened_alone(self.path, "command"), "ab", buffering=0)
        whole, newline, _ = self.path.read_bytes().rpartition(b"\n")
        self.size_bytes = len(whole + newline)
        self._file.truncate(self.size_bytes)

    def __enter__(self) -> Self:
        """Return itself; leaving closes the file."""
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    @property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text(encoding="utf-8")

    @property
    def fingerprint(self) -> str | None:
        """That of the study that it has; None while it is empty."""
        with self.path.open("rb") as file, contextlib.suppress(*UNREADABLE):
            line = decode_line(file.readline())
            return line.fingerprint if isinstance(line, StudyLine) else None
        return None

    @property
    def runs(self) -> int:
        """How many runs it has."""
        count = 0
        with self.path.open("rb") as file:
            for line in file:
                with contextlib.suppress(*UNREADABLE):
                    count += decode_head(line).kind == "run"
        return count

    def add(self, text: str) -> None:
        """Append what a host sent; nothing more once it is closed, as it is if that fails.

        Raises:
            ScalingError: the disk is full, say.
        """
        if self._file.closed:
            return
        data = rest = text.encode()
        try:
            while rest:  # a disk that is nearly full takes a part
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.close()
            raise ScalingError(
                f"{self.path}: {error.strerror}. Make room and run the same command again: "
                f"the host has the whole journal"
            ) from None
        self.size_bytes += len(data)


class _Host:
    """One host. `state` is "interrupted" until it is known how it ended.

    `head` is the first line of its journal, once it is prepared; with an `error`, what it has sent
    cannot be written.
    """

    def __init__(
        self, client: "Client", request: Request, address: str, copy: JournalCopy, say: Say
    ) -> None:
        self.label = request.label
        self.state: State = "interrupted"
        self.head: StudyLine | None = None
        self.error: ScalingError | None = None
        self._client = client
        self._request = request
        self._address = address
        self._copy = copy
        self._print = say
        self._total: int | None = None
        self._held_bytes = 0
        self._heard_at = time.monotonic()
        self._under_way: Future[None] | None = None
        self._topic = f"scaling-{uuid.uuid4().hex}"
        client.subscribe_topic(self._topic, self._take)

    @property
    def standing(self) -> Standing:
        """How far it is."""
        return Standing(state=self.state, runs=self._copy.runs, total=self._total)

    @property
    def is_busy(self) -> bool:
        """Whether a step of it is under way."""
        return self._under_way is not None

    def prepare(self) -> None:
        """Have it make what the study needs."""
        self._begin(self._request)

    def measure(self) -> None:
        """Have it measure what remains, and send what the copy lacks."""
        copy = self._copy
        lost_its_own = self._held_bytes < copy.size_bytes
        self._begin((copy.size_bytes, copy.text if lost_its_own else None))

    def _begin(self, asked: Request | tuple[int, str | None]) -> None:
        self._under_way = self._client.submit(
            on_host.step,
            self._request.name,
            msgspec.json.encode(asked).decode(),
            self._topic,
            workers=[self._address],
            allow_other_workers=False,
            resources=RESOURCES,
            pure=False,
            retries=0,
        )

    def look(self) -> None:
        """See whether its step is over; say that it was lost, or once that it is silent."""
        step = self._under_way
        if step is None:
            return
        if step.done():  # what it has sent came before
            self._under_way = None
            if step.status == "error" and self.state == "interrupted":
                # The engine has an error for each way to lose a host.
                why = type(step.exception()).__name__
                self._ends("lost", f"{why}. The same command measures what is missing")
        elif time.monotonic() - self._heard_at > SILENT_S:
            self._heard_at = float("inf")
            self._print(
                f"{self.label}: no sign of it for {SILENT_S / 60:.0f} min: it is slow or cut off. "
                f"The others go on"
            )

    def _take(self, sent: tuple[float, str]) -> None:
        """Note what its driver has printed; called in the thread of the engine."""
        event = msgspec.json.decode(sent[1], type=Event)
        self._heard_at = time.monotonic()
        self._total = event.total or self._total
        if event.say:
            self._print(f"{self.label}: {event.say}")
        if event.journal:
            try:
                self._copy.add(event.journal)
            except ScalingError as error:
                self.error = error
        if event.head is not None:
            self._prepared(event.head, event.held_bytes)
        elif event.state is not None and event.state != "interrupted" and not self.error:
            self._ends(event.state, event.why)

    def _prepared(self, head: StudyLine, held_bytes: int) -> None:
        if self._copy.fingerprint in (None, head.fingerprint):
            self.head, self._held_bytes = head, held_bytes
        else:
            self._ends("different", "choose another folder with --output DIR")

    def _ends(self, state: State, why: str) -> None:
        self.state = state
        words = str(self.standing)
        self._print(f"{self.label}: {words}{f' ({why})' if why else ''}")


# -------------------------------------------------------------------------------------- differences
# What differs between hosts, printed before anything is run on them. Machines may differ: they are
# what is compared. Builds, packages and workloads should not.


def same_machines(heads: Mapping[str, StudyLine]) -> Iterator[list[str]]:
    """The labels of hosts that are one machine."""
    for each in dict.fromkeys(head.machine.id for head in heads.values()):
        labels = [label for label, head in heads.items() if head.machine.id == each]
        if len(labels) > 1:
            yield labels


def differences(heads: Mapping[str, StudyLine]) -> Iterator[str]:
    """A line for each host that differs from the first one.

    host-2 differs from host-1 in: 3.14t version (3.14.5, not 3.14.7)
    """
    if not heads:
        return
    (first, one), *others = heads.items()
    ours = _facts(one)
    for label, head in others:
        theirs = _facts(head)
        found = [
            f"{name} ({theirs.get(name, 'none')}, not {ours.get(name, 'none')})"
            for name in {**ours, **theirs}
            if ours.get(name) != theirs.get(name)
        ]
        if found:
            yield f"{label} differs from {first} in: {listed(found)}"


def _facts(head: StudyLine) -> dict[str, str]:
    """All that should be the same, by what it is called."""
    facts = {"scaling": head.scaling, "workloads": (head.workers_source or "")[:8]}
    for name, arm in head.arms.items():
        facts[name] = arm.runtime or arm.build
        if arm.description is not None:
            python = arm.description.python
            facts |= {f"{name} {each}": str(getattr(python, each)) for each in OF_A_BUILD}
            facts |= {f"{name} {p}": version for p, version in arm.description.packages.items()}
    return {name: value for name, value in facts.items() if value}
