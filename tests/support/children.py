"""Runs cells in fresh children, by the interpreter that runs the tests."""

import json
import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scaling.journal.record import Record, decode_record

ROOT = Path(__file__).parents[2]
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
PATIENCE_S = 240  # far above what any child here takes: it bounds a hang, it measures nothing
# How a user's module begins.
BEGINNING = """\
import asyncio, os, signal, socket, sys, time
from dataclasses import dataclass
from typing import Literal
from workers import Rounds, Worker, Workload, parameter
"""
QUICK = {"warmup_s": 0.05, "window_s": 0.1, "ticks": 2}


@dataclass(frozen=True)
class Finished:
    code: int
    stdout: str
    stderr: str

    @property
    def record(self) -> Record:
        return decode_record(self.stdout)


def environment(*folders: Path, **variables: str) -> dict[str, str]:
    """What a child needs and nothing of what the tests themselves were started with."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(map(str, (*folders, ROOT))),
        "PYTHONSAFEPATH": "1",
        **variables,
    }


def finish(cell: dict[str, Any] | str, *folders: Path, **variables: str) -> Finished:
    """Run a cell in a child to its end; `folders` are where a user's code is."""
    document = cell if isinstance(cell, str) else json.dumps(QUICK | cell)
    return ask([], document, *folders, **variables)


def ask(arguments: list[str], document: str, *folders: Path, **variables: str) -> Finished:
    done = subprocess.run(
        [sys.executable, "-m", "workers", *arguments],
        input=document,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=environment(*folders, **variables),
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def measured(cell: dict[str, Any], *folders: Path, **variables: str) -> Record:
    """The record of a cell that must succeed."""
    done = finish(cell, *folders, **variables)
    assert done.code == 0, f"{done.stdout}\n{done.stderr}"
    return done.record
