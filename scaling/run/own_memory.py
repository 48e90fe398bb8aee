"""What a run's processes hold in memory at an instant, whoever outside the run shares it."""

import re
from collections.abc import Iterable
from pathlib import Path

import psutil

from scaling.run.file_pages import file_bytes

IN_KB = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)


def full_memory(processes: Iterable[psutil.Process]) -> dict[str, int | None]:
    """RSS, PSS, USS and peak RSS of these processes in bytes, added up; None where unreadable.

    Added-up RSS counts pages that processes share once for each; PSS counts them once. It is
    `file_bytes` and the kernel's PSS of anonymous memory, which only forks of one another share: it
    lacks what a fork has that has left the run. The peak is `VmHWM` of each (`ru_maxrss` would
    inherit the driver's own peak over exec).
    """
    processes = list(processes)
    totals: dict[str, int | None] = dict.fromkeys(("rss", "pss", "uss", "peak"), 0)
    totals["pss"] = file_bytes(process.pid for process in processes)
    for process in processes:
        try:
            readings = _of_one(process)
        except psutil.Error:
            return dict.fromkeys(totals)
        for name, value in readings.items():
            so_far = totals[name]
            totals[name] = None if so_far is None or value is None else so_far + value
    return totals


def peak_bytes(pid: int) -> int | None:
    """Peak RSS of a process (`VmHWM`); None where the system does not tell."""
    return _told(pid, "status").get("VmHWM")


def _of_one(process: psutil.Process) -> dict[str, int | None]:
    """The same of one process, but that PSS lacks files."""
    told = _told(process.pid, "smaps_rollup")  # walks all pages: not to be read twice
    information = process.memory_info() if told else process.memory_full_info()
    private = [value for name, value in told.items() if name.startswith("Private_")]
    return {
        "rss": information.rss,
        "pss": told.get("Pss_Anon"),
        "uss": sum(private) if private else getattr(information, "uss", None),
        "peak": peak_bytes(process.pid),
    }


def _told(pid: int, file: str) -> dict[str, int]:
    """Bytes by name: the lines in kB of a file in /proc/PID. Empty where it cannot be read."""
    try:
        text = Path(f"/proc/{pid}/{file}").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {name: int(value) * 1024 for name, value in IN_KB.findall(text)}
