"""Runs cells in fresh children, by the interpreter that runs the tests."""

import json
import os
import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from scaling.journal.record import Failure, Record, decode_record
from scaling.run.child import Child, Ending, Run, run_child

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
# `python -m workers --describe` with one of the built-in workloads alone.
OF_ONE = """
import sys
from workers import describe
from workers.__main__ import main
every = describe.built_in()
describe.built_in = lambda: {%(name)r: every[%(name)r]}
sys.exit(main(sys.argv[1:]))
"""
OF_COMPUTE = OF_ONE % {"name": "compute"}
QUICK = {"warmup_s": 0.02, "window_s": 0.1, "ticks": 2}
MIB = 1 << 20
# In sub-interpreters: what is written in Python.
PORTABLE_LOOPS = ("asyncio", "trio", "anyio/asyncio", "anyio/trio")


def git(*arguments: str, at: Path) -> str:
    """What a git command prints in a folder."""
    done = subprocess.run(["git", *arguments], cwd=at, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def each_model(*models: str) -> pytest.MarkDecorator:
    """A case for each of these models, on the build that `each_case` says."""
    return each_case(("model",), [(each,) for each in models])


def each_case(names: Sequence[str], cases: Iterable[Sequence[Any]]) -> pytest.MarkDecorator:
    """Cases with a `model`: threads run on 3.14t, where they run at once; every other one on 3.14.

    Tests of settings, of loops and of turns have sub-interpreters on 3.14t, too.
    """
    place = names.index("model")
    builds = {"threads": pytest.mark.free_threaded}
    return pytest.mark.parametrize(
        names,
        [
            pytest.param(*each, marks=builds.get(each[place], pytest.mark.one_build))
            for each in cases
        ],
    )


@dataclass(frozen=True)
class Finished:
    code: int
    stdout: str
    stderr: str

    @property
    def record(self) -> Record:
        return decode_record(self.stdout)

    @property
    def failure(self) -> Failure:
        """That of a run that must fail."""
        assert (self.code, self.record.outcome) == (1, "failed"), self.stderr
        assert self.record.failure
        return self.record.failure


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


def captured(
    command: Sequence[str], *folders: Path, stdin: str | None = None, **variables: str
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end; what it said and its exit code."""
    return subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=environment(*folders, **variables),
    )


def ask(arguments: list[str], document: str, *folders: Path, **variables: str) -> Finished:
    command = [sys.executable, "-m", "workers", *arguments]
    done = captured(command, *folders, stdin=document, **variables)
    return Finished(done.returncode, done.stdout, done.stderr)


def measured(cell: dict[str, Any], *folders: Path, **variables: str) -> Record:
    """The record of a cell that must succeed."""
    done = finish(cell, *folders, **variables)
    assert done.code == 0, f"{done.stdout}\n{done.stderr}"
    return done.record


def driven(
    cell: dict[str, Any], *folders: Path, limit_s: float | None = None, **variables: str
) -> Ending:
    """Run a cell as the driver does."""
    child = Child(sys.executable, environment(*folders, **variables))
    return run_child(Run(child, QUICK | cell, limit_s))


def record_of(ending: Ending) -> Record:
    """The record of a driven run that must succeed."""
    assert ending.record, ending.stderr
    assert ending.outcome == "measured", (ending.record.failure, ending.stderr)
    return ending.record


def failure_of(ending: Ending) -> Failure:
    """That of a driven run that must fail."""
    assert ending.outcome == "failed", ending.stderr
    assert ending.record
    assert ending.record.failure
    return ending.record.failure


def faults_per_operation(record: Record) -> float:
    """Page faults of the first worker, for each of its operations."""
    ticks = record.workers[0].ticks
    assert ticks.minor_faults
    found = (ticks.minor_faults[-1] or 0) - (ticks.minor_faults[0] or 0)
    return found / (ticks.operations[-1] - ticks.operations[0])


def unknown_keys(printed: Any, known: Any) -> list[str]:
    """Keys of one JSON document that the other, made from our shapes, does not have."""
    if isinstance(printed, dict) and isinstance(known, dict):
        return [
            problem
            for key, value in printed.items()
            for problem in (unknown_keys(value, known[key]) if key in known else [key])
        ]
    if isinstance(printed, list) and isinstance(known, list):
        pairs = zip(printed, known, strict=True)
        return [problem for one, other in pairs for problem in unknown_keys(one, other)]
    return []


def pss_mib(ending: Ending) -> float:
    """Memory of a driven run that must succeed, MiB; pages that its processes share count once."""
    record_of(ending)
    assert ending.memory.pss_bytes is not None
    return ending.memory.pss_bytes / MIB


@dataclass(frozen=True)
class Own:
    """A folder with a user's workload `Theirs`, and runs of it, with these variables."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def write(self, source: str) -> str:
        """Write the module; give the name of its class `Theirs` for a cell."""
        (self.folder / "theirs.py").write_text(BEGINNING + textwrap.dedent(source))
        return "theirs:Theirs"

    def finish(self, source: str, /, **cell: Any) -> Finished:
        """Run it in a child to its end."""
        return finish({"workload": self.write(source), **cell}, self.folder, **self.variables)

    def measured(self, source: str, /, **cell: Any) -> Record:
        """The record of a run that must succeed."""
        return measured({"workload": self.write(source), **cell}, self.folder, **self.variables)

    def failure(self, source: str, /, **cell: Any) -> Failure:
        """That of a run that must fail."""
        return self.finish(source, **cell).failure

    def driven(self, source: str, /, *, limit_s: float | None = None, **cell: Any) -> Ending:
        """Run it as the driver does."""
        asked = {"workload": self.write(source), **cell}
        return driven(asked, self.folder, limit_s=limit_s, **self.variables)
