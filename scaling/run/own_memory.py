"""The memory of a run's processes at one moment, whatever they share with others."""

import re
from collections.abc import Iterable
from pathlib import Path

import psutil

from scaling.run.file_pages import file_bytes

IN_KB = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)


def full_memory(processes: Iterable[psutil.Process]) -> dict[str, int | None]:
    """RSS, PSS, USS and peak RSS of these processes, bytes, summed; None if unreadable.

    The sum of RSS counts a shared page once per process; PSS counts it once. PSS is `file_bytes`
    plus the kernel's PSS of anonymous memory, which only forks of one another share: it lacks what
    a fork shares with a process that has left the run. The peak is `VmHWM` of each process
    (`ru_maxrss` would inherit the driver's own peak over exec).
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
    """Peak RSS of a process (`VmHWM`), bytes; None if the system does not report it."""
    return _bytes_in(pid, "status").get("VmHWM")


def _of_one(process: psutil.Process) -> dict[str, int | None]:
    """The same of one process, but PSS without files."""
    rollup = _bytes_in(process.pid, "smaps_rollup")  # walks all pages: read only once
    information = process.memory_info() if rollup else process.memory_full_info()
    private = [value for name, value in rollup.items() if name.startswith("Private_")]
    return {
        "rss": information.rss,
        "pss": rollup.get("Pss_Anon"),
        "uss": sum(private) if private else getattr(information, "uss", None),
        "peak": peak_bytes(process.pid),
    }


def _bytes_in(pid: int, file: str) -> dict[str, int]:
    """Bytes by name: the lines in kB of a file in /proc/PID; empty if it cannot be read."""
    try:
        text = Path(f"/proc/{pid}/{file}").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {name: int(value) * 1024 for name, value in IN_KB.findall(text)}
