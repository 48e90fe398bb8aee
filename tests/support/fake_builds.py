"""Fakes of interpreters and of uv, for tests of the code that uses them."""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scaling.builds.cpython import Interpreter


def say_nothing(line: str) -> None:
    """Discard a line of output."""
    del line


def interpreter(build: str = "3.14t", version: str = "3.14.7", **other: Any) -> Interpreter:
    """An interpreter that is not installed anywhere."""
    facts: dict[str, Any] = {
        "executable": Path(f"/nowhere/{other.get('origin', 'PATH')}/{version}/python{build}"),
        "origin": "PATH",
        "compiler": "GCC 12.2.0",
    }
    return Interpreter(build, version, build.endswith("t"), **(facts | other))


def answer(stdout: str = "", stderr: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    """The result of a command."""
    return subprocess.CompletedProcess([], code, stdout, stderr)


def script(path: Path, *lines: str) -> Path:
    """An executable shell script at `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


def python_script(path: Path, version: str, *, free_threaded: bool, **other: Any) -> Path:
    """An executable at `path` that answers the question of `inspect`."""
    facts = {
        "implementation": "cpython",
        "version": version,
        "minor": [int(part) for part in version.split(".")[:2]],
        "free_threaded": free_threaded,
        "debug": False,
        "executable": str(path),
        "config_args": "",
        "compiler": "GCC 12.2.0",
        "missing": [],
    }
    return script(path, f"cat <<'END'\n{json.dumps(facts | other)}\nEND")


class Uv:
    """A fake uv: answers each command by its first matching rule, and records the commands."""

    def __init__(
        self, *rules: tuple[str, subprocess.CompletedProcess[str] | Callable[[str], object]]
    ) -> None:
        self.rules = rules
        self.commands: list[str] = []

    def __call__(
        self, arguments: Sequence[str], **variables: str
    ) -> subprocess.CompletedProcess[str]:
        del variables
        command = " ".join(arguments)
        self.commands.append(command)
        for part, result in self.rules:
            if part in command:
                made = result(command) if callable(result) else result
                if isinstance(made, subprocess.CompletedProcess):
                    return made
        return answer()


def make_venv(command: str) -> None:
    """What `uv venv` would do."""
    python = Path(command.rpartition(" ")[2]) / "bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("")
