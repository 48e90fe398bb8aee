"""Memory and CPU time of a run's processes, read from outside while it runs.

Nothing samples inside the child: it would be starved under the GIL and compete without it. The
child reports its phases over a socket and waits for an answer where an exact reading is taken.
"""

import contextlib
import json
import mmap
import os
import re
import select
import socket
import statistics
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from pathlib import Path
from typing import Any

import psutil

from scaling.base.errors import ScalingError
from scaling.journal.record import Memory
from scaling.machine.disturbance import MachineTimes
from scaling.run.process_tree import family, runs

# --------------------------------------------------------------------------------------- own memory
# The memory of a run's processes at one moment, whatever they share with others.
#
# The kernel's PSS divides a page by all processes that map it: a driver or a service on the
# interpreter of the measured child would make the child look smaller. A page's place in its file
# shows as well whether two processes share it, whatever runs beside them. So pages of files are
# counted here, each once.

HAS_ROLLUP = Path("/proc/self/smaps_rollup").exists()  # Linux 4.14 or newer
IN_KB = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)
ENTRY_BYTES = 8  # of /proc/PID/pagemap, per page
HIGHEST = ENTRY_BYTES - 1 if sys.byteorder == "little" else 0
# The highest byte of an entry: in memory (0x80), and of a file or shared memory (0x20).
OF_A_FILE = bytes(byte & 0xA0 == 0xA0 for byte in range(256))
MOST_BYTES = 8 << 30  # mapped by one process: holes are read too, 7 ms a GiB


def full_memory(processes: Iterable[psutil.Process]) -> dict[str, int | None]:
    """RSS, PSS, USS and peak RSS of these processes, bytes, summed; None if unreadable.

    The sum of RSS counts a shared page once per process; PSS counts it once. PSS is `file_bytes`
    plus the kernel's PSS of anonymous memory, which only forks of one another share: it lacks what
    a fork shares with a process that has left the run. USS is what only one of the processes has,
    whoever else on the machine has the same files. The peak is `VmHWM` of each process
    (`ru_maxrss` would inherit the driver's own peak over exec).

    RSS, USS and the anonymous part of PSS are from one walk over a process's pages, so that no
    allocation in between can put PSS above RSS. (`/proc/PID/statm` is no such walk: the kernel's
    counters behind it are approximate.)
    """
    processes = list(processes)
    totals: dict[str, int | None] = dict.fromkeys(("rss", "pss", "uss", "peak"), 0)
    files = file_bytes(process.pid for process in processes) if HAS_ROLLUP else None
    if files:
        totals["pss"], totals["uss"] = files
    else:
        totals["pss"] = None
    for process in processes:
        try:
            readings = _of_one(process, with_files=files is None)
        except psutil.Error:
            return dict.fromkeys(totals)
        for name, value in readings.items():
            so_far = totals[name]
            totals[name] = None if so_far is None or value is None else so_far + value
    return totals


def peak_bytes(pid: int) -> int | None:
    """Peak RSS of a process (`VmHWM`), bytes; None if the system does not report it."""
    return _bytes_in(pid, "status").get("VmHWM")


def _of_one(process: psutil.Process, *, with_files: bool) -> dict[str, int | None]:
    """The same of one process, but PSS without files, and USS `with_files` only if asked."""
    rollup = _bytes_in(process.pid, "smaps_rollup")  # walks all pages: read only once
    if not rollup:  # another system; a process that is gone raises
        information = process.memory_full_info()
        uss = getattr(information, "uss", None)
        return {"rss": information.rss, "pss": None, "uss": uss, "peak": peak_bytes(process.pid)}
    kinds = ("Private_Dirty", "Private_Clean", "Private_Hugetlb")[: None if with_files else 1]
    return {
        "rss": rollup.get("Rss"),
        "pss": rollup.get("Pss_Anon"),
        "uss": sum(rollup.get(name, 0) for name in kinds),
        "peak": peak_bytes(process.pid),
    }


def _bytes_in(pid: int, file: str) -> dict[str, int]:
    """Bytes by name: the lines in kB of a file in /proc/PID; empty if it cannot be read."""
    try:
        text = Path(f"/proc/{pid}/{file}").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {name: int(value) * 1024 for name, value in IN_KB.findall(text)}


def file_bytes(pids: Iterable[int]) -> tuple[int, int] | None:
    """Bytes of files and shared memory that these processes map and that are in memory: all of
    them, and those that only one of the processes maps.

    A page that several of them map counts once, whoever else maps it. A private copy (data,
    relocations) is no longer the file's, and not counted. None if it cannot be read (not Linux, a
    process is gone), or if a process maps more than `MOST_BYTES` of files.
    """
    resident: defaultdict[tuple[bytes, bytes], Counter[int]] = defaultdict(Counter)
    try:
        for pid in pids:
            mappings = list(_mappings(pid))
            if sum(len(pages) for _, _, pages in mappings) * mmap.PAGESIZE > MOST_BYTES:
                return None
            with Path(f"/proc/{pid}/pagemap").open("rb", buffering=0) as pagemap:
                own: defaultdict[tuple[bytes, bytes], set[int]] = defaultdict(set)
                for file, page, pages in mappings:
                    own[file].update(_resident(pagemap.fileno(), page, pages))
            for file, there in own.items():
                resident[file].update(there)
    except OSError:
        return None
    together = sum(map(len, resident.values()))
    of_one = sum(list(each.values()).count(1) for each in resident.values())
    return mmap.PAGESIZE * together, mmap.PAGESIZE * of_one


def _mappings(pid: int) -> Iterator[tuple[tuple[bytes, bytes], int, range]]:
    """Parts of files in a process's address space: the file, the page there, its own pages."""
    with Path(f"/proc/{pid}/maps").open("rb") as maps:
        for line in maps:
            addresses, _, offset, device, inode, *_ = line.split(maxsplit=5)
            if inode != b"0":  # not anonymous memory, stack or the kernel's own
                begin, end = (int(each, 16) // mmap.PAGESIZE for each in addresses.split(b"-"))
                first = int(offset, 16) // mmap.PAGESIZE
                yield (device, inode), begin, range(first, first + end - begin)


def _resident(pagemap: int, page: int, pages: range) -> Iterator[int]:
    """Which of these `pages` of a file, which begin at that `page` of a process, are in memory."""
    length = len(pages) * ENTRY_BYTES
    entries = os.pread(pagemap, length, page * ENTRY_BYTES)
    if len(entries) < length:
        raise ProcessLookupError
    of_a_file = entries[HIGHEST::ENTRY_BYTES].translate(OF_A_FILE)
    return compress(pages, of_a_file)


# -------------------------------------------------------------------------------------------- probe

SAMPLE_EVERY_S = 0.25  # a reading takes about 20 µs per process
IN_ROUNDS_S = 0.05  # at the end of a round of finite work what it needed is free again
READ_AT = ("imported", "closed")  # phases; at others the child must not wait for readings
IDLE = "serving"  # the phase of servers that answer and have no load yet


class Probe:
    """Watches one run from its imports to the end of its window.

    `processes` are those that belonged to the run when it reported its phases.
    """

    def __init__(
        self,
        observed: socket.socket,
        services_cpu_s: Callable[[], float] = lambda: 0.0,
        on_phase: Callable[[str, dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        """Listen at `observed`; `services_cpu_s` returns the CPU seconds of the services so far.

        `on_phase` is called with each phase, after the readings that belong to it, before the child
        goes on, and returns what to reply. A `ScalingError` that it raises is reported to the
        child, whose run then fails.
        """
        self._socket = observed
        self._services_cpu_s = services_cpu_s
        self._on_phase = on_phase
        self.processes: frozenset[psutil.Process] = frozenset()
        self._samples: list[tuple[int, int]] = []  # when (monotonic ns), and RSS of all processes
        self._baseline_bytes: int | None = None
        self._idle_pss_bytes: int | None = None
        self._full: dict[str, int | None] = {}
        self.times: dict[str, MachineTimes] = {}
        self.cpu_s: dict[str, float] = {}
        self._every_s = SAMPLE_EVERY_S
        self._thread = threading.Thread(target=self._watch, name="probe", daemon=True)

    def start(self) -> None:
        """Watch in a thread of the driver until the child closes its end."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the last reading, if it has started. The child is gone; what it started may not
        be.
        """
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # another process may hold the other end open
        if self._thread.ident is not None:
            self._thread.join()
        self._socket.close()

    def memory(self, opened_ns: int | None, closed_ns: int | None) -> Memory:
        """Bytes: before traffic; RSS, PSS, USS and peak at the window's end; median RSS in it.

        There is no median where no sample was in the window, or the workload has started
        processes since its imports.
        """
        inside = [
            rss_bytes
            for at_ns, rss_bytes in self._samples
            if opened_ns and closed_ns and opened_ns <= at_ns <= closed_ns
        ]
        return Memory(
            baseline_rss_bytes=self._baseline_bytes,
            rss_bytes=self._full.get("rss"),
            pss_bytes=self._full.get("pss"),
            idle_pss_bytes=self._idle_pss_bytes,
            uss_bytes=self._full.get("uss"),
            peak_bytes=self._peak_bytes(),
            window_rss_bytes=round(statistics.median(inside)) if inside else None,
            samples=len(inside),
        )

    def _peak_bytes(self) -> int | None:
        """`VmHWM`, or the largest reading: the kernel's mark may be some pages behind."""
        peak = self._full.get("peak")
        if peak is None:
            return None
        seen = [rss_bytes for _, rss_bytes in self._samples]
        return max(peak, self._baseline_bytes or 0, self._full.get("rss") or 0, *seen)

    def _watch(self) -> None:
        received = b""
        while True:
            readable, _, _ = select.select([self._socket], [], [], self._every_s)
            if not readable:
                self._sample()
                continue
            try:
                chunk = self._socket.recv(4096)
            except ConnectionError:
                return
            if not chunk:
                return
            received += chunk
            while b"\n" in received:
                text, _, received = received.partition(b"\n")
                answer = self._answer(text)
                with contextlib.suppress(OSError):  # it is gone; the next `recv` reports that
                    self._socket.sendall(json.dumps(answer).encode() + b"\n")

    def _answer(self, text: bytes) -> dict[str, Any]:
        """Do what belongs to a phase. The child waits, so this never raises."""
        try:
            message = json.loads(text)
            with contextlib.suppress(Exception):  # a failed reading stays blank
                self._phase(message["phase"], message["pids"])
                if message.get("finite"):
                    self._every_s = IN_ROUNDS_S
            if self._on_phase:
                return self._on_phase(message["phase"], message)
        except (ScalingError, OSError) as error:
            return {"failed": str(error)}
        except Exception as error:
            return {"failed": f"{type(error).__name__}: {error}"}
        return {}

    def _phase(self, phase: str, pids: list[int]) -> None:
        if phase == "turn" and self._every_s == SAMPLE_EVERY_S:  # slices are shorter than that
            self._sample()
        if phase == IDLE:
            self._idle_pss_bytes = full_memory(with_descendants(pids))["pss"]
        if phase not in READ_AT:
            return
        found = with_descendants(pids)
        used_s = cpu_s(found) + self._services_cpu_s()
        # Before memory is read, which takes CPU time.
        self.times[phase], self.cpu_s[phase] = MachineTimes.now(), used_s
        if phase == "imported":
            self.processes = found
            self._baseline_bytes = self._rss()
        else:
            if found != self.processes:  # the samples lack processes started since
                self._samples = []
            self.processes |= found
            self._full = full_memory(found)

    def _sample(self) -> None:
        rss = self._rss()
        if rss is not None:
            self._samples.append((time.monotonic_ns(), rss))

    def _rss(self) -> int | None:
        try:
            return sum(each.memory_info().rss for each in self.processes) or None
        except psutil.Error:
            return None


def with_descendants(pids: list[int]) -> frozenset[psutil.Process]:
    """These processes (the first is the host) and all that they have started."""
    found: set[psutil.Process] = set()
    for pid in pids:
        if all(each.pid != pid for each in found):  # usually all descend from the host
            found.update(family(pid))
    return frozenset(filter(runs, found))


def cpu_s(processes: Iterable[psutil.Process]) -> float:
    """CPU seconds that these processes have used so far; one that is gone counts 0."""
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total
