"""A large journal is read in parts, a process for each CPU, and gives what one process reads."""

import os
import signal
import subprocess
import sys
import threading
import time
from itertools import accumulate
from pathlib import Path

import pandas as pd
import pytest

from scaling.analysis.table import load
from scaling.analysis.table.load import read_journal
from scaling.journal.file import FILE_NAME
from scaling.journal.reading import read_split
from scaling.journal.record import Calibration, CeilingLine, Load, RatesLine, RunLine, encode_line
from tests.support.children import PATIENCE_S, environment
from tests.support.runs import with_
from tests.support.studies import FakeStudy


def loaded(run: RunLine) -> RunLine:
    """Runs of the last block, which is in the last part, have another load generator."""
    return with_(run, load=Load(processes=2 if run.block == 2 else 1))


MADE = FakeStudy(arms=("3.14", "3.14t"), workers=(1, 2), blocks=3, change=loaded)
RATES = RatesLine(
    calibrations=[Calibration(workload="echo", baseline=MADE.every_cell[0], peak_per_s=9.0)],
    runs_per_block=4,
)
CEILING = CeilingLine(service="origin", requests_per_s=1000.0)
LINES = [*MADE.lines[:2], RATES, *MADE.lines[2:], CEILING]  # rates are in the first part
RUNS = [line for line in LINES if isinstance(line, RunLine)]
UNREADABLE = len(LINES) - 2  # the place of a line in the last part

# Reads the journal as three CPUs would, and keeps the frame, the notes and the ceilings.
READ_BY_THREE = """
import os, pickle, sys
from scaling.analysis.table import load
from scaling.analysis.table.load import read_journal
from scaling.base.errors import UsageError

load.PART_BYTES = 1
os.sched_getaffinity = lambda process: range(3)
try:
    read = read_journal(sys.argv[1])
except UsageError as error:
    sys.exit(str(error))
with open(sys.argv[2], "wb") as kept:
    pickle.dump((read.frame, read.notes, read.ceilings, read.study), kept)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lines = [encode_line(line) for line in LINES]
    lines.insert(UNREADABLE, b'{"kind":"run","\n')
    file = tmp_path / FILE_NAME
    file.write_bytes(b"".join(lines))
    return file


def read_by_three(
    path: Path, kept: Path, before: str = "", *, start_new_session: bool = False
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", before + READ_BY_THREE, str(path), str(kept)]
    return subprocess.run(
        command,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        start_new_session=start_new_session,
    )


def test_every_line_is_in_one_part_wherever_they_meet(path: Path) -> None:
    whole = list(read_split(path, lambda _: None))
    size = path.stat().st_size
    begins = accumulate(len(encode_line(each)) for each in LINES[:2])  # of the second, the third
    near = [begin + by for begin in begins for by in (-1, 0, 1)]
    for meet in (1, *near, size // 2, size - 1, size, size + 1):
        notes: list[str] = []
        head, *first = read_split(path, notes.append, range(meet))
        again, *second = read_split(path, notes.append, range(meet, size + 1))
        assert [head, *first, *second] == whole
        assert again == head
        assert notes == [f"{path}: line {UNREADABLE + 1} skipped: " + notes[0].partition("d: ")[2]]


@pytest.mark.slow
def test_processes_read_what_one_reads(path: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    done = read_by_three(path, kept)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    frame, *others = pd.read_pickle(kept)
    alone = read_journal(path)
    pd.testing.assert_frame_equal(frame, alone.frame)
    assert others == [alone.notes, alone.ceilings, alone.study]
    assert len(frame) == len(RUNS)
    assert alone.study == RATES.of(MADE.first_line)


# What each process does in place of reading its part; the first has the first part.
KILLED = "os.kill(os.getpid(), signal.SIGKILL) if os.getpid() != first else None"
INTERRUPTED = (
    "(time.sleep(0.3), os.killpg(0, signal.SIGINT)) if part.start == 0 else time.sleep(60)"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("does", "code", "said"),
    [
        (KILLED, 1, "was ended, perhaps for want of memory"),
        (INTERRUPTED, -signal.SIGINT, "KeyboardInterrupt"),
    ],
    ids=["killed", "interrupted"],
)
def test_a_process_that_ends_is_told_once_and_ends_all(
    path: Path, tmp_path: Path, does: str, code: int, said: str
) -> None:
    """Nobody waits for a part that is still being read, and nothing is left."""
    before = f"""
import os, signal, time
from scaling.analysis.table import load
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may run where it is ignored
first, read = os.getpid(), load._read

def instead(file, part):
    {does}
    return read(file, part)

load._read = instead
"""
    began = time.monotonic()
    done = read_by_three(path, tmp_path / "kept", before, start_new_session=True)
    assert time.monotonic() - began < 60
    assert done.returncode == code
    assert done.stderr.count(said) == 1


def as_three_cpus_would(patch: pytest.MonkeyPatch, threads: int) -> None:
    patch.setattr(load, "PART_BYTES", 1)
    patch.setattr(os, "sched_getaffinity", lambda _: range(3))
    patch.setattr(threading, "active_count", lambda: threads)


@pytest.mark.parametrize(
    ("threads", "part_bytes"), [(1, load.PART_BYTES), (2, 1)], ids=["small", "threads"]
)
def test_nothing_is_forked_for_a_small_journal_or_with_threads(
    path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, part_bytes: int
) -> None:
    """A fork has the locks of all threads, and only one thread that could release them."""
    as_three_cpus_would(monkeypatch, threads)
    monkeypatch.setattr(load, "PART_BYTES", part_bytes)
    monkeypatch.setattr(load, "_read_at_once", pytest.fail)
    assert len(read_journal(path).frame) == len(RUNS)
