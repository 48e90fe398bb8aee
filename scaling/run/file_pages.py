"""Pages of files that a run's processes have in memory, each counted once.

The kernel's PSS divides a page by all processes that map it: a driver or a service on the
interpreter of the measured child would make the child look smaller. A page's place in its file
shows as well whether two processes share it, whatever runs beside them.
"""

import mmap
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import NamedTuple

ENTRY_BYTES = 8  # of /proc/PID/pagemap, per page
HIGHEST = ENTRY_BYTES - 1 if sys.byteorder == "little" else 0
# The highest byte of an entry: in memory (0x80), and of a file or shared memory (0x20).
OF_A_FILE = bytes(byte & 0xA0 == 0xA0 for byte in range(256))
MOST_BYTES = 8 << 30  # mapped by one process: holes are read too, 7 ms a GiB


@dataclass(frozen=True, slots=True)
class Mapping:
    """Part of a file in a process's address space; `first`, `page` and `pages` count pages."""

    file: tuple[bytes, bytes]
    page: int
    first: int
    pages: int


class FileBytes(NamedTuple):
    """Bytes that some processes map: all of them, and those that only one of the processes maps."""

    together: int
    of_one: int


def file_bytes(pids: Iterable[int]) -> FileBytes | None:
    """Bytes of files and shared memory that these processes map and that are in memory.

    A page that several of them map counts once, whoever else maps it. A private copy (data,
    relocations) is no longer the file's, and not counted. None if it cannot be read (not Linux, a
    process is gone), or if a process maps more than `MOST_BYTES` of files.
    """
    resident: defaultdict[tuple[bytes, bytes], Counter[int]] = defaultdict(Counter)
    try:
        for pid in pids:
            mappings = list(_mappings(pid))
            if sum(each.pages for each in mappings) * mmap.PAGESIZE > MOST_BYTES:
                return None
            with Path(f"/proc/{pid}/pagemap").open("rb", buffering=0) as pagemap:
                own: defaultdict[tuple[bytes, bytes], set[int]] = defaultdict(set)
                for each in mappings:
                    own[each.file].update(_resident(pagemap.fileno(), each))
            for file, pages in own.items():
                resident[file].update(pages)
    except OSError:
        return None
    return FileBytes(
        together=mmap.PAGESIZE * sum(map(len, resident.values())),
        of_one=mmap.PAGESIZE * sum(list(each.values()).count(1) for each in resident.values()),
    )


def _mappings(pid: int) -> Iterator[Mapping]:
    with Path(f"/proc/{pid}/maps").open("rb") as maps:
        for line in maps:
            addresses, _, offset, device, inode, *_ = line.split(maxsplit=5)
            if inode != b"0":  # not anonymous memory, stack or the kernel's own
                begin, end = (int(each, 16) // mmap.PAGESIZE for each in addresses.split(b"-"))
                first = int(offset, 16) // mmap.PAGESIZE
                yield Mapping((device, inode), page=begin, first=first, pages=end - begin)


def _resident(pagemap: int, mapping: Mapping) -> Iterator[int]:
    """Which pages of the file are in memory, counted from the start of the file."""
    length = mapping.pages * ENTRY_BYTES
    entries = os.pread(pagemap, length, mapping.page * ENTRY_BYTES)
    if len(entries) < length:
        raise ProcessLookupError
    of_a_file = entries[HIGHEST::ENTRY_BYTES].translate(OF_A_FILE)
    return compress(range(mapping.first, mapping.first + mapping.pages), of_a_file)
