"""A study measured on every host of a cluster, each for itself; their journals are copied here.

If a host is lost, the others go on. The same command measures what is missing: each host has its
own journal, and what it has is not measured again.
"""

import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from scaling.base.errors import ScalingError, UsageError
from scaling.builds.cache import Say
from scaling.journal.folder import Hosts, Standing, State, read_hosts, write_hosts
from scaling.journal.reading import journal_in
from scaling.journal.record import StudyLine
from scaling.run.cluster import on_host
from scaling.run.cluster.copies import JournalCopy
from scaling.run.cluster.differences import differences, same_machines
from scaling.run.cluster.driver import INTERRUPTED, Event
from scaling.run.cluster.engine import Cluster
from scaling.run.cluster.request import RESOURCES, Request
from scaling.run.session import InterruptedStudyError

if TYPE_CHECKING:
    from distributed import Future as EngineFuture

SILENT_S = 300.0  # a run takes less, unless it hangs
STOP_S = 30.0  # for hosts to end their runs after Ctrl-C

type Ask = Callable[[str, str], Request]  # with the id of the results, and a label


def measure_on_hosts(cluster: Cluster, ask: Ask, folder: Path, say: Say) -> Hosts:
    """Measure what remains on every host; return how far each is.

    Raises:
        UsageError: the folder cannot be used, or two of the hosts are one machine.
        InterruptedStudyError: the user stopped it; what was measured is kept.
    """
    found = _opened(folder)
    with ExitStack() as stack:
        session = _Session(cluster, found, say)
        for label, address in cluster.addresses.items():
            copy = stack.enter_context(JournalCopy(folder / label))
            session.add(ask(found.results, label), address, copy)
        try:
            session.prepare()
            session.measure()
        except KeyboardInterrupt:
            raise InterruptedStudyError(
                f"interrupted: what each host has measured is in {folder}. "
                f"The same command goes on from there"
            ) from None
        finally:
            session.stop()
            found.hosts |= session.standings
            write_hosts(folder, found)
    return found


def _opened(folder: Path) -> Hosts:
    """What a results folder says of its hosts so far; it gets its id if it is new."""
    if journal_in(folder):
        raise UsageError(
            f"{folder} holds a study of one machine. Choose another folder with --output DIR"
        )
    hosts = read_hosts(folder) or Hosts()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_hosts(folder, hosts)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from None
    return hosts


class _Session:
    """One study on the hosts of a cluster, from preparing them to the last line of a journal."""

    def __init__(self, cluster: Cluster, known: Hosts, say: Say) -> None:
        self._cluster = cluster
        self._known = known
        self._say = say
        self._topic = f"scaling-{uuid.uuid4().hex}"
        self._hosts: dict[str, _Host] = {}
        cluster.client.subscribe_topic(self._topic, self._take)
        for label, why in cluster.absent.items():
            say(f"{label}: not reached: {why}")

    def add(self, request: Request, address: str, copy: JournalCopy) -> None:
        """A host that is there."""
        host = _Host(self._cluster, request, address, copy, self._topic, self._say)
        self._hosts[request.label] = host

    @property
    def standings(self) -> dict[str, Standing]:
        """How far each host is."""
        absent = {
            label: msgspec.structs.replace(
                self._known.hosts.get(label, Standing(state="absent")), state="absent"
            )
            for label in self._cluster.absent
        }
        return absent | {label: host.standing for label, host in self._hosts.items()}

    def prepare(self) -> None:
        """Make what the study needs on every host, and say in what they differ.

        Raises:
            UsageError: two of them are one machine.
        """
        self._stop_drivers()  # of a command that was killed
        self._on_each(_Host.prepare)
        heads = {label: host.head for label, host in self._hosts.items() if host.head}
        for labels in same_machines(heads):
            raise UsageError(
                f"{' and '.join(labels)} are one machine, and would disturb each other. "
                f"Name only one of them"
            )
        for line in differences(heads):
            self._say(line)

    def measure(self) -> None:
        """Measure on every host that is prepared."""
        self._on_each(_Host.measure)

    def stop(self) -> None:
        """Have every host end its run, and keep what it has sent."""
        if not any(host.is_busy for host in self._hosts.values()):
            return
        self._stop_drivers()
        deadline = time.monotonic() + STOP_S
        while time.monotonic() < deadline and any(host.is_busy for host in self._hosts.values()):
            time.sleep(0.1)
        for host in self._hosts.values():
            host.cancel()

    def _on_each(self, step: "Callable[[_Host], None]") -> None:
        """Do a step on every host at once; those that fail are out, the others go on."""
        hosts = [host for host in self._hosts.values() if host.state == "interrupted"]
        pool = ThreadPoolExecutor(max(1, len(hosts)))
        steps: list[Future[None]] = [pool.submit(step, host) for host in hosts]
        try:
            while not wait(steps, timeout=1.0).done.issuperset(steps):
                for host in hosts:
                    host.say_if_silent()
        finally:
            pool.shutdown(wait=False)
        for each in steps:
            each.result()

    def _stop_drivers(self) -> None:
        self._cluster.client.run(
            on_host.stop,
            self._known.results,
            workers=[*self._cluster.addresses.values()],
            on_error="ignore",
        )

    def _take(self, event: tuple[float, str]) -> None:
        """What a host has sent; called in the thread of the engine."""
        sent = msgspec.json.decode(event[1], type=on_host.Sent)
        self._hosts[sent.label].take(sent)


class _Host:
    """One host. `state` is "interrupted" until it is known how it ended."""

    def __init__(
        self,
        cluster: Cluster,
        request: Request,
        address: str,
        copy: JournalCopy,
        topic: str,
        say: Say,
    ) -> None:
        self.state: State = "interrupted"
        self.head: StudyLine | None = None
        self._cluster = cluster
        self._request = request
        self._address = address
        self._copy = copy
        self._topic = topic
        self._label = request.label
        self._print = say
        self._total: int | None = None
        self._held_bytes = 0
        self._heard_at = time.monotonic()
        self._under_way: EngineFuture[str] | None = None

    @property
    def standing(self) -> Standing:
        """How far it is."""
        return Standing(state=self.state, runs=self._copy.runs, total=self._total)

    @property
    def is_busy(self) -> bool:
        """Whether a step of it is under way."""
        return self._under_way is not None

    def prepare(self) -> None:
        """Make what the study needs there."""
        event = self._step(on_host.prepare, self._topic)
        if event is None or event.head is None:
            return
        head = msgspec.json.decode(event.head, type=StudyLine)
        if self._copy.fingerprint not in (None, head.fingerprint):
            self._ends("different", "choose another folder with --output DIR")
            return
        self.head = head
        self._held_bytes = event.held_bytes or 0

    def measure(self) -> None:
        """Measure what remains there."""
        copy = self._copy
        lost_its_own = self._held_bytes < copy.size_bytes
        text = copy.text if lost_its_own else None
        if self._step(on_host.measure, text, copy.size_bytes, self._topic) is None:
            return
        rest = self._step(on_host.rest, copy.size_bytes)
        if rest is not None and rest.journal is not None:
            copy.add(copy.size_bytes, rest.journal)
            self._ends("complete", "")

    def take(self, sent: on_host.Sent) -> None:
        """Write down what it has sent."""
        self._heard_at = time.monotonic()
        self._total = sent.total or self._total
        if sent.text:
            self._copy.add(sent.offset, sent.text)
        if sent.say:
            self._print(f"{self._label}: {sent.say}")

    def say_if_silent(self) -> None:
        """Say once that it is slow or cut off."""
        if self.is_busy and time.monotonic() - self._heard_at > SILENT_S:
            self._heard_at = float("inf")
            self._print(
                f"{self._label}: no sign of it for {SILENT_S / 60:.0f} min: it is slow or cut off. "
                f"The others go on"
            )

    def cancel(self) -> None:
        """Wait for it no longer."""
        if self._under_way is not None:
            self._under_way.cancel()

    def _step(self, task: Callable[..., str], *arguments: object) -> Event | None:
        """Have the engine do a task there; None if it failed, which is then reported."""
        self._under_way = self._cluster.client.submit(
            task,
            self._request.encode(),
            *arguments,
            workers=[self._address],
            allow_other_workers=False,
            resources=RESOURCES,
            pure=False,
            retries=0,
        )
        try:
            event = msgspec.json.decode(self._under_way.result(), type=Event)
        except CancelledError:
            return None
        except ScalingError:
            raise
        except Exception as error:  # of the engine, which has one for each way to lose a host
            self._ends("lost", f"{type(error).__name__}. The same command measures what is missing")
            return None
        finally:
            self._under_way = None
        if event.error == INTERRUPTED:
            return None
        if event.error is not None:
            self._ends("failed", event.error)
            return None
        return event

    def _ends(self, state: State, why: str) -> None:
        self.state = state
        words = str(self.standing)
        self._print(f"{self._label}: {words}{f' ({why})' if why else ''}")
