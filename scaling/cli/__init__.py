"""The command line: `main` is what `scaling` runs.

To add a command, write its file in `scaling/cli/commands`, with a function of the same name.
"""

import atexit
import codecs
import gc
import importlib
import os
import pkgutil
import shlex
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

from scaling.base.errors import (
    BROKEN_PIPE,
    INTERRUPTED,
    OF_THE_DISK,
    ScalingError,
    UsageError,
)
from scaling.base.gone import gone

__all__ = ["COMMANDS", "main"]


def fail(message: str, exit_code: int) -> NoReturn:
    """Print an error message, and exit."""
    with suppress(OSError):  # standard error is closed, or on a full disk
        print(f"scaling: {message}", file=sys.stderr)
    raise SystemExit(exit_code) from None


def fail_without(error: ModuleNotFoundError) -> NoReturn:
    """Say which package is not installed, and how to install all that are needed."""
    package, _, _ = (error.name or "").partition(".")
    if package in ("", "scaling"):
        raise error  # not the user's mistake
    if not str(error).startswith("No module named"):
        fail(str(error), UsageError.exit_code)  # a package's own message
    source = Path(__file__).parents[2]
    what = shlex.quote(str(source)) if (source / "pyproject.toml").is_file() else package
    python = shlex.quote(sys.executable)
    fail(f"{package} is not installed: {python} -m pip install {what}", UsageError.exit_code)


def fail_at(error: OSError) -> NoReturn:
    """Say what the system refused; say nothing if the reader has closed the output."""
    with suppress(OSError, ValueError, AttributeError):  # what is still to be printed is lost
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        raise SystemExit(BROKEN_PIPE) from None
    place = error.filename or ("standard output" if error.errno in OF_THE_DISK else "")
    why = error.strerror or str(error)
    fail(f"{place}: {why}" if place else why, UsageError.exit_code)


# Most objects live until the command ends, and few are in a cycle: at Python's own number a
# twentieth of the time is spent on looking through them.
ALLOCATIONS_BETWEEN_COLLECTIONS = 50_000
gc.set_threshold(ALLOCATIONS_BETWEEN_COLLECTIONS)

try:
    from scaling.cli import commands, program

    for each in pkgutil.iter_modules(commands.__path__, f"{commands.__name__}."):
        importlib.import_module(each.name)
except KeyboardInterrupt:  # Ctrl-C while it starts
    raise SystemExit(INTERRUPTED) from None
except ModuleNotFoundError as missing:
    fail_without(missing)

COMMANDS = program.names()  # in the order in which `scaling --help` lists them


def main() -> None:
    """Run the command line. An error is printed in a line or two, and sets the exit code."""
    atexit.register(gc.freeze)  # or Python ends by looking for cycles in all of pandas: 0.2 s
    try:
        try:
            raise SystemExit(_run(sys.argv[1:] or ["--help"]))
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except SystemExit as ended:  # rich ends with 1, as a failed check does
        if isinstance(ended.__context__, BrokenPipeError):
            fail_at(ended.__context__)
        raise
    except ScalingError as error:
        fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except ModuleNotFoundError as missing:
        fail_without(missing)
    except OSError as error:
        fail_at(error)


def _run(arguments: list[str]) -> int:
    """Run a command; return its exit code."""
    from cyclopts import CycloptsError

    print_in_any_encoding()
    if message := gone(arguments[0]):
        fail(message, UsageError.exit_code)
    try:
        program.app(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        fail(program.explained(error), UsageError.exit_code)
    return 0


# ----------------------------------------------------------------------------------------- encoding

# A pipe may be ASCII, an old terminal Latin-1. One ASCII character replaces each character that the
# encoding lacks, so that tables keep their columns; a question mark if it is not listed.
REPLACEMENTS = dict(zip("·–—−─’‘█■┃│▏×÷±≈…→≤≥µ░²", "-----''##|||x/~~.><>u-2", strict=True))
HANDLER = "scaling.ascii"


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """The replacement of characters that cannot be encoded."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(REPLACEMENTS.get(letter, "?") for letter in missing), error.end


def print_in_any_encoding() -> None:
    """Let standard output and standard error take every text, whatever their encoding."""
    codecs.register_error(HANDLER, _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=HANDLER)
