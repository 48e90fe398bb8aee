"""Memory of a run's processes at one moment, whatever they share with others.

The kernel's PSS divides a page by all processes that map it: a driver or a service on the
interpreter of the measured child would make the child look smaller. A page's place in its file
shows as well whether two processes share it, whatever runs beside them. So pages of files are
counted here, each once.
"""

import mmap
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import compress
from pathlib import Path

import psutil

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
    """Memory of one process: PSS without files, and USS `with_files` only if asked."""
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
    """Those `pages` of a file that are in memory; the first is that `page` of a process."""
    length = len(pages) * ENTRY_BYTES
    entries = os.pread(pagemap, length, page * ENTRY_BYTES)
    if len(entries) < length:
        raise ProcessLookupError
    of_a_file = entries[HIGHEST::ENTRY_BYTES].translate(OF_A_FILE)
    return compress(pages, of_a_file)
