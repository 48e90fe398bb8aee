"""The memory of a run's processes at one moment, whatever they share with others."""

import re
from collections.abc import Iterable
from pathlib import Path

import psutil

from scaling.run.file_pages import file_bytes

HAS_ROLLUP = Path("/proc/self/smaps_rollup").exists()  # Linux 4.14 or newer
IN_KB = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)


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
    totals["pss"] = files.together if files else None
    if files:
        totals["uss"] = files.of_one
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
