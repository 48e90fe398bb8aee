"""A user's own requirements, installed into a child's environment after the pinned packages."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scaling.base.errors import UsageError
from scaling.builds import uv_tool
from scaling.builds.build_failure import build_failure, keep_log
from scaling.builds.cache import Say
from scaling.builds.cpython import Interpreter
from scaling.builds.index_options import index_options, variables_for
from scaling.builds.lock import Locked, is_lock, read_lock, text_of
from scaling.builds.uv_tool import Uv

type Step = tuple[str, list[str], dict[str, str]]
"""A name for messages, arguments of uv, and variables for uv."""


@dataclass(frozen=True)
class OwnRequirements:
    """Requirements as in requirements.txt, and files: of requirements, or lock files."""

    names: Sequence[str] = ()
    files: Sequence[str] = ()

    def made_from(self, version: str) -> Iterator[object]:
        """Everything that decides which packages are installed for Python `version`, for a key.

        Raises:
            UsageError: a file cannot be read.
        """
        yield [_stamped(requirement) for requirement in self.names]
        if self.files:
            yield [_text(Path(file)) for file in self.files]
            yield [_stamped(folder) for file in self.files for folder in _folders(file, version)]

    def install(self, uv: Uv, command: Sequence[str], interpreter: Interpreter, say: Say) -> None:
        """Install them with uv's `command`.

        A package without a wheel is reported, and built from its source. A package that a lock
        file has from elsewhere than an index is installed as written, whatever requires it.

        Raises:
            UsageError: something cannot be read or installed.
        """
        version = interpreter.version
        locks = [read_lock(Path(each), version) for each in self.files if is_lock(Path(each))]
        for line in (line for each in locks for line in each.left_out):
            say(f"  {line}")
        with tempfile.TemporaryDirectory(prefix="scaling-own-") as temporary:
            for names, wanted, variables in self._steps(locks, Path(temporary)):
                own_uv = partial(uv, **variables)
                _install(own_uv, command, wanted, names, interpreter.build, say)

    def _steps(self, locks: Sequence[Locked], folder: Path) -> Iterator[Step]:
        """The steps of the installation; files are written to `folder`."""
        pins = [pin for each in locks for pin in each.pins]
        if pins:  # a lock file is complete: nothing is added to it
            file = _put(folder / "pins.txt", "\n".join(pins))
            yield "the lock file", ["--no-deps", "-r", file], {}
        excluded: list[str] = []
        if written := [entry for each in locks for entry in each.written]:
            file = _put(folder / "pylock.toml", text_of(written))
            yield "the lock file", ["--no-deps", "-r", file], {}
            names = "\n".join(entry["name"] for entry in written)
            excluded = ["--excludes", _put(folder / "excluded.txt", names)]
        files = [each for each in self.files if not is_lock(Path(each))]
        if files or self.names:
            named = [word for each in files for word in ("-r", each)]
            options = [line for each in files for line in index_options(Path(each))]
            wanted = [*excluded, *named, "--", *self.names]
            yield " ".join([*files, *self.names]), wanted, variables_for(options)


def _put(file: Path, text: str) -> str:
    file.write_text(text, encoding="utf-8")
    return str(file)


def _install(
    uv: Uv, command: Sequence[str], wanted: Sequence[str], names: str, build: str, say: Say
) -> None:
    """Install from wheels; if a wheel is missing, from sources, too.

    Raises:
        UsageError: it cannot be installed.
    """
    answer = uv([*command, "--no-build", *wanted])
    if answer.returncode == 0:
        return
    missing = uv_tool.without_wheel(answer)
    if missing:
        say(f"  {missing} has no wheel for {build}: building it from its source")
    answer = uv([*command, *wanted])
    if answer.returncode == 0:
        return
    if failure := build_failure(answer.stderr):
        raise UsageError(
            f"{failure.package} has no wheel for {build}, and its source does not build: "
            f"{failure.reason}\nLeave it out, or ask for a version that has a wheel. Output of the "
            f"build: {keep_log(failure, build, answer.stderr)}"
        )
    if missing and uv_tool.without_wheel(answer) == missing:
        raise UsageError(
            f"{names}: {missing} has neither a wheel for {build} nor a source. "
            "Ask for a version that has one, or leave it out"
        )
    uv_tool.must(answer, names, UsageError)


def _folders(file: str, version: str) -> list[str]:
    """The folders that a lock file has packages from."""
    written = read_lock(Path(file), version).written if is_lock(Path(file)) else ()
    return [entry["directory"]["path"] for entry in written if "directory" in entry]


def _text(file: Path) -> str:
    """Read a file of requirements; invalid bytes are replaced, and uv reports them."""
    try:
        return file.read_bytes().decode(errors="replace")
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from None


def _stamped(requirement: str) -> str:
    """A requirement; a folder or file has the time of its last change added."""
    path = Path(requirement)
    if not path.exists():
        return requirement
    entries = filter(Path.exists, [path, *path.rglob("*")])  # a link may point nowhere
    newest = max(entry.stat().st_mtime_ns for entry in entries)
    return f"{path.resolve()} {newest}"
