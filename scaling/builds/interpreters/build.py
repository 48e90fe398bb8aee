"""An interpreter built from source: configure, make, install, and one rename into the cache.

Both builds of a version get the same flags, so that a comparison of the two is one of the GIL and
not of compilers. Plain `-O3` takes a few minutes; PGO is for studies to be published.
"""

from __future__ import annotations

import os
import tarfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scaling.base.errors import ScalingError
from scaling.builds import cache
from scaling.builds.cache import Say
from scaling.builds.interpreters import libraries, source
from scaling.builds.interpreters.builds import Build
from scaling.builds.interpreters.find import built_folder
from scaling.builds.interpreters.follow import follow, last_lines
from scaling.builds.interpreters.interpreter import Interpreter, inspect

FLAGS = ("--with-ensurepip=no", "--disable-test-modules")
PGO_FLAGS = ("--enable-optimizations",)  # with LTO it takes twice as long, for a few per cent


@dataclass(frozen=True)
class BuildStep:
    """A command, and what is known of it from having run it (3.14.7, GCC 12, two cores)."""

    command: tuple[str, ...]
    cpu_s: float
    lines: int
    """Lines that it prints: progress is counted in them."""
    parallel: bool = False

    @property
    def expected_s(self) -> float:
        """How long it takes here, supposing cores like those it was measured on."""
        return self.cpu_s / (_cores() if self.parallel else 1)


def from_source(
    wanted: Build, *, pgo: bool, say: Say, clock: Callable[[], float] = time.monotonic
) -> Interpreter:
    """The interpreter `wanted` from our cache, built now if it is not there yet.

    Raises:
        ScalingError: no source of it is pinned or can be had, or the build failed (the message
            has the last lines of its log).
    """
    version = source.version_for(wanted.version)
    if version is None:
        raise ScalingError(f"we build {', '.join(source.SHA256)} from source, not {wanted.version}")
    name = f"{version}{'t' if wanted.free_threaded else ''}{'-pgo' if pgo else ''}"
    destination = built_folder() / name

    def fill(temporary: Path) -> Path:
        libraries.require(say=say)
        archive = source.tarball(version, say=say)
        steps = _steps(wanted, temporary / f"Python-{version}", destination, pgo=pgo)
        expected_s = sum(step.expected_s for step in steps)
        say(f"building CPython {name} (once): about {_minutes(expected_s)} on {_cores()} cores")
        _unpack(archive, temporary)
        work(steps, temporary, name=name, say=say, clock=clock)
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
    steps: Sequence[BuildStep], folder: Path, *, name: str, say: Say, clock: Callable[[], float]
) -> None:
    """Run `steps` one after the other in `folder`, saying every tenth of the way that it is made.

    Raises:
        ScalingError: a step failed; the message has the end of the log and where the log is.
    """
    log = cache.folder() / "logs" / f"build-{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    started = clock()
    expected_s = sum(step.expected_s for step in steps)
    before_s = 0.0
    said = 0
    for step in steps:
        seen = 0

        def on_line(step: BuildStep = step, before_s: float = before_s) -> None:
            nonlocal seen, said
            seen += 1
            done = (before_s + step.expected_s * min(seen / step.lines, 1.0)) / expected_s
            if int(done * 10) > said:
                said = int(done * 10)
                say(f"  {name}: {said * 10} %, {_minutes(clock() - started)} so far")

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
            # Debian 12's Python 3.11.2 has no filters yet; what is unpacked has been verified.
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(folder)
    except tarfile.CompressionError as error:
        raise ScalingError(
            "this Python was built without lzma and cannot unpack CPython's source. "
            "Run nox with another Python, such as the system's own."
        ) from error
    except (tarfile.TarError, OSError, EOFError) as error:
        told = getattr(error, "strerror", None) or str(error).partition("\n")[0].rstrip(":")
        raise ScalingError(
            f"CPython's source cannot be unpacked in {folder.parent} ({told}). "
            "When that is mended, run the same command again."
        ) from error


def _check(made: Interpreter, wanted: Build, version: str) -> None:
    if (made.build, made.version) != (wanted.name, version):
        raise ScalingError(f"the source of {version} built {made.build} {made.version}")
    if made.missing:
        raise ScalingError(
            f"CPython {version} was built without {', '.join(made.missing)}: "
            "the library was not found"
        )


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"
