"""What the system allows and how it handles memory, and what of all this it cannot tell."""

import re
from collections.abc import Iterator

from scaling.machine.advice import Advice
from scaling.machine.patient import Patient

# Workers hold some ten descriptors each and one or two per connection; 64 connections a worker on
# 12 workers need 1,700.
LEAST_OPEN_FILES = 4096
THP = "sys/kernel/mm/transparent_hugepage/enabled"


def open_files(patient: Patient) -> Iterator[Advice]:
    """The limit on open files, sockets among them."""
    limit = patient.open_files
    if limit is not None and 0 <= limit < LEAST_OPEN_FILES:
        yield Advice(
            "mind",
            f"a process may open {limit:,} files; many workers with many connections need more",
            f"before the study, in the same shell: ulimit -n {LEAST_OPEN_FILES}",
        )


def huge_pages(patient: Patient) -> Iterator[Advice]:
    """Transparent huge pages, which make memory figures jump by 2 MiB."""
    active = re.search(r"\[(\w+)\]", patient.text(THP))
    if active and active[1] == "always":
        yield Advice(
            "mind",
            "transparent huge pages are always on: memory grows in steps of 2 MiB",
            f"as root: echo madvise > /{THP}",
        )


def system(patient: Patient) -> Iterator[Advice]:
    """What stays blank where the system is not Linux."""
    if patient.system != "Linux":
        yield Advice(
            "mind",
            f"{patient.system or 'this system'} is not Linux: PSS, peak memory, throttling, steal, "
            f"page faults and the cores' topology stay blank, and workers cannot be pinned",
            "compare only with studies from the same system",
        )
