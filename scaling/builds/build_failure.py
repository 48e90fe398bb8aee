"""The failure of a build from source: the reason in a line for the user, the output in a log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from scaling.builds import cache, uv_tool

FAILED = re.compile(r"Failed to (?:download and )?build `([\w.-]+)(?:==([^`\s]+))?")
OF_SCRIPT = "--- stderr"  # the output of a build script of Cargo follows
# An error of a compiler, or an exception, but not the message that a command failed.
ERROR = re.compile(
    r"error(\[\w+\])?: (?!command|failed to run|could not compile|subprocess)", re.IGNORECASE
)
MOST = 200  # characters of a reason


@dataclass(frozen=True)
class BuildFailure:
    """A package that could not be built; the version is empty if it is from no index."""

    name: str
    version: str
    reason: str

    @property
    def package(self) -> str:
        """`orjson 3.13.0`."""
        return f"{self.name} {self.version}".rstrip()


def build_failure(stderr: str) -> BuildFailure | None:
    """The failure that uv reports; None if it reports none of a build."""
    found = FAILED.search(stderr)
    if found is None:
        return None
    name = canonicalize_name(found[1])
    return BuildFailure(name, found[2] or "", reason_in(stderr[found.end() :]))


def keep_log(failure: BuildFailure, build: str, stderr: str) -> Path:
    """Write the output of a build to a log in the cache; return the file.

    Raises:
        OSError: it cannot be written.
    """
    stem = "-".join(filter(None, ("build", failure.name, failure.version, build)))
    file = cache.folder() / "logs" / f"{stem}.log"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(stderr, encoding="utf-8")
    return file


def reason_in(printed: str) -> str:
    """The most informative line of a build's output.

    It is the first line of a build script's own output, else the first error, else the last line.
    """
    text = printed.partition("\nhint:")[0].partition("[stderr]")
    lines = [line.strip() for line in (text[2] or text[0]).splitlines() if line.strip()]
    if OF_SCRIPT in lines:
        lines = lines[lines.index(OF_SCRIPT) + 1 :]
        lines = lines[1:] if lines and lines[0].startswith("thread '") else lines  # panicked at
        said = lines[:1]
    else:
        said = [line for line in lines if ERROR.search(line)][:1]
    last = re.sub(r"^\W*(cause: )?", "", lines[-1]) if lines else "it does not say why"
    line = said[0] if said else last.partition(uv_tool.CONCLUSION)[0]
    return line if len(line) <= MOST else f"{line[: MOST - 1]}…"
