"""An interpreter built from source: configure, make, install, and one rename into the cache.

Both builds of a version get the same flags, so that they differ in the GIL and not in the compiler.
Plain `-O3` takes a few minutes; PGO is for studies that are published.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tarfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scaling.base.errors import ScalingError
from scaling.builds import cache
from scaling.builds.cache import Say
from scaling.builds.cpython import Build, Interpreter, inspect
from scaling.builds.interpreters import source
from scaling.builds.interpreters.find import built_folder

# ------------------------------------------------------------------------------------------- follow
# A long command whose output goes to a log file, line by line, while it runs.


def follow(command: Sequence[str], *, folder: Path, log: Path, on_line: Callable[[], None]) -> int:
    """Run `command` in `folder` to its end and return its exit code.

    Its output is appended to `log`; `on_line` is called once per line. If this process is
    interrupted, all processes of the command are ended before the exception is raised. (If this
    process is killed, they end by themselves, since nobody reads their output.)
    """
    # Settings for another Python or another make must not reach this build.
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON") and name not in ("MAKEFLAGS", "MAKELEVEL", "DESTDIR")
    }
    with (
        log.open("a", encoding="utf-8") as file,
        subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                file.write(line)
                on_line()
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
    return process.returncode


def last_lines(log: Path, count: int = 15) -> str:
    """The end of `log`, indented, for a message."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-count:])


# -------------------------------------------------------------------------------------------- build

FLAGS = ("--with-ensurepip=no", "--disable-test-modules")
PGO_FLAGS = ("--enable-optimizations",)  # with LTO it takes twice as long, for a few per cent


@dataclass(frozen=True)
class BuildStep:
    """A command of a build, with its measured cost (3.14.7, GCC 12, two cores)."""

    command: tuple[str, ...]
    cpu_s: float
    lines: int
    """The number of lines that it prints, by which progress is measured."""
    parallel: bool = False

    @property
    def expected_s(self) -> float:
        """The expected time on this number of cores."""
        return self.cpu_s / (_cores() if self.parallel else 1)


def from_source(wanted: Build, *, pgo: bool, say: Say) -> Interpreter:
    """The interpreter `wanted` from our cache, built first if it is missing.

    Raises:
        ScalingError: no source is pinned or available, or the build failed (the message has the
            last lines of its log).
    """
    version = source.version_for(wanted.version)
    if version is None:
        raise ScalingError(
            f"only {', '.join(source.SHA256)} can be built from source, not {wanted.version}"
        )
    name = f"{version}{'t' if wanted.free_threaded else ''}{'-pgo' if pgo else ''}"
    destination = built_folder() / name

    def fill(temporary: Path) -> Path:
        source.require_libraries(say=say)
        archive = source.tarball(version, say=say)
        steps = _steps(wanted, temporary / f"Python-{version}", destination, pgo=pgo)
        expected_s = sum(step.expected_s for step in steps)
        say(f"building CPython {name} (once): about {_minutes(expected_s)} on {_cores()} cores")
        _unpack(archive, temporary)
        work(steps, temporary, name=name, say=say)
        staged = temporary / "root" / destination.relative_to(destination.anchor)
        _check(inspect(staged / "bin" / f"python{wanted.name}"), wanted, version)
        return staged

    cache.make_whole(destination, fill, say=say)
    return inspect(destination / "bin" / f"python{wanted.name}", origin="built")


def _steps(wanted: Build, tree: Path, destination: Path, *, pgo: bool) -> tuple[BuildStep, ...]:
    flags = [*FLAGS, *(PGO_FLAGS if pgo else ()), *(["--disable-gil"] * wanted.free_threaded)]
    make = ("make", f"-j{_cores()}")
    return (
        BuildStep((str(tree / "configure"), f"--prefix={destination}", *flags), 20, 820),
        BuildStep(make, 780, 1200, parallel=True)
        if pgo
        else BuildStep(make, 200, 450, parallel=True),
        BuildStep(("make", "install", "DESTDIR=" + str(tree.with_name("root"))), 10, 1950),
    )


def work(
    steps: Sequence[BuildStep],
    folder: Path,
    *,
    name: str,
    say: Say,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Run `steps` one after the other in `folder`; report every tenth of the way.

    Raises:
        ScalingError: a step failed; the message has the end of the log and its path.
    """
    log = cache.folder() / "logs" / f"build-{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    started = clock()
    expected_s = sum(step.expected_s for step in steps)
    before_s = 0.0
    reported = 0
    for step in steps:
        seen = 0

        def on_line(step: BuildStep = step, before_s: float = before_s) -> None:
            nonlocal seen, reported
            seen += 1
            done = (before_s + step.expected_s * min(seen / step.lines, 1.0)) / expected_s
            if int(done * 10) > reported:
                reported = int(done * 10)
                say(f"  {name}: {reported * 10} %, {_minutes(clock() - started)} so far")

        code = follow(step.command, folder=folder, log=log, on_line=on_line)
        if code != 0:
            what = " ".join(step.command[:2]) if step.command[0] == "make" else "configure"
            raise ScalingError(
                f"building CPython {name} failed ({what}: exit code {code}). "
                f"The log is {log} and ends with:\n{last_lines(log)}"
            )
        before_s += step.expected_s


def _unpack(archive: Path, folder: Path) -> None:
    try:
        with tarfile.open(archive) as tar:
            # Debian 12's Python 3.11.2 has no filters; the archive has been verified.
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(folder)
    except tarfile.CompressionError as error:
        raise ScalingError(
            "this Python was built without lzma and cannot unpack CPython's source. "
            "Run nox with another Python, such as the system's own."
        ) from error
    except (tarfile.TarError, OSError, EOFError) as error:
        why = getattr(error, "strerror", None) or str(error).partition("\n")[0].rstrip(":")
        raise ScalingError(
            f"CPython's source cannot be unpacked in {folder.parent} ({why}). "
            "Fix that, then run the same command again."
        ) from error


def _check(made: Interpreter, wanted: Build, version: str) -> None:
    if (made.build, made.version) != (wanted.name, version):
        raise ScalingError(
            f"building {wanted.name} {version} gave {made.build} {made.version}. "
            f"Leave it out with SCALING_INTERPRETERS=found,uv"
        )
    if made.missing:
        raise ScalingError(
            f"CPython {version} was built without {', '.join(made.missing)}: "
            "their libraries were not found when it was built"
        )


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"
