"""What the system allows and how it handles memory, and what of all this it cannot tell."""

import re
from collections.abc import Iterator

from scaling.machine.advice import Advice
from scaling.machine.snapshot import MachineSnapshot

# Workers hold some ten open files each and one or two per connection: `fetch` with its 5,000
# connections a worker needs as many for three threads. Children raise their own soft limit.
LEAST_OPEN_FILES = 16_384
THP = "sys/kernel/mm/transparent_hugepage/enabled"


def open_files(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """The limit on open files, sockets among them."""
    limit = snapshot.open_files
    if limit is not None and limit < LEAST_OPEN_FILES:
        yield Advice(
            "mind",
            f"a process may open {limit:,} files at most; many workers with many connections need "
            f"more, and a plan leaves out what does",
            f"as root, in the shell that starts the study: ulimit -n {LEAST_OPEN_FILES}",
        )


def huge_pages(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Transparent huge pages, which make memory figures jump by 2 MiB."""
    active = re.search(r"\[(\w+)\]", snapshot.text(THP))
    if active and active[1] == "always":
        yield Advice(
            "mind",
            "transparent huge pages are always on: memory grows in steps of 2 MiB",
            f"as root: echo madvise > /{THP}",
        )


def system(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """What stays blank where the system is not Linux."""
    if snapshot.system != "Linux":
        yield Advice(
            "mind",
            f"{snapshot.system or 'this system'} is not Linux: PSS, peak memory, throttling, "
            f"steal, page faults and the cores' topology stay blank, and workers cannot be pinned",
            "compare only with studies from the same system",
        )
