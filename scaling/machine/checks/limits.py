"""Limits of the system: open files, huge pages, and what cannot be read on it."""

import re
from collections.abc import Iterator

from scaling.machine.advice import Advice
from scaling.machine.snapshot import MachineSnapshot

# Workers hold some ten open files each and one or two per connection: `fetch` with its 5,000
# connections a worker needs as many for three threads. Children raise their own soft limit.
LEAST_OPEN_FILES = 16_384
THP = "sys/kernel/mm/transparent_hugepage/enabled"


def open_files(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """The limit on open files, which includes sockets."""
    limit = snapshot.open_files
    if limit is not None and limit < LEAST_OPEN_FILES:
        yield Advice(
            "warning",
            f"a process may open {limit:,} files at most; a plan leaves out cells that need more "
            f"(many workers with many connections)",
            f"as root, in the shell that starts the study: ulimit -n {LEAST_OPEN_FILES}",
        )


def huge_pages(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Transparent huge pages: memory figures change in steps of 2 MiB."""
    active = re.search(r"\[(\w+)\]", snapshot.text(THP))
    if active and active[1] == "always":
        yield Advice(
            "warning",
            "transparent huge pages are always on: memory grows in steps of 2 MiB",
            f"as root: echo madvise > /{THP}",
        )


def system(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """What stays blank on systems other than Linux."""
    if snapshot.system != "Linux":
        yield Advice(
            "warning",
            f"{snapshot.system or 'this system'} is not Linux: PSS, peak memory, throttling, "
            f"steal, page faults and the CPU topology stay blank; workers cannot be pinned",
            "compare only with studies from the same system",
        )
