"""uv: its binary, its settings, and its errors.

uv does not read pip's configuration: on a machine whose pip is set to a mirror, `pip install` works
and uv would not. So pip's settings (index, certificates) are passed to uv, unless uv has its own.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import platformdirs

from scaling.base.errors import ScalingError

Uv = Callable[..., subprocess.CompletedProcess[str]]
"""uv, called as `run` is."""

# pip's option → uv's variable, and older names for the same.
PASSED_ON = {
    "index-url": ("UV_DEFAULT_INDEX", "UV_INDEX_URL"),
    "extra-index-url": ("UV_INDEX", "UV_EXTRA_INDEX_URL"),
    "cert": ("SSL_CERT_FILE",),
    "trusted-host": ("UV_INSECURE_HOST",),
}

NAME = r"\b[A-Za-z][\w.-]*"  # of a package; a version begins with a digit
NO_SOLUTION = "No solution found when resolving dependencies cause: "
CONCLUSION = ", we can conclude"
MOST = 400  # characters of a reason


def binary() -> str:
    """The path of the uv binary, from the Python package `uv`, else from PATH.

    Raises:
        ScalingError: uv is not installed.
    """
    try:
        import uv

        return str(uv.find_uv_bin())
    except (ImportError, FileNotFoundError):
        found = shutil.which("uv")
    if found is None:
        raise ScalingError("uv is needed and is not installed. Get it with: pip install uv")
    return found


def run(
    arguments: Sequence[str], *, limit_s: float | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run uv with `arguments`; `variables` are added to its environment.

    After `limit_s` uv and all processes that it started are killed, and uv has failed. The caller
    checks the exit code. Nothing is printed.
    """
    command = [binary(), *arguments]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment(), **variables},
        start_new_session=limit_s is not None,
    ) as process:
        try:
            output, errors = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            errors += f"\nit took more than {limit_s:.0f} s"
        except BaseException:
            process.kill() if limit_s is None else os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def must(
    answer: subprocess.CompletedProcess[str], what: str, error: type[ScalingError] = ScalingError
) -> str:
    """The output of a command that should succeed.

    Raises:
        ScalingError: the command failed (or `error`); the message has uv's reason, no address.
    """
    if answer.returncode == 0:
        return answer.stdout
    raise error(f"{what} cannot be installed: {reason(answer)}")


def reason(answer: subprocess.CompletedProcess[str]) -> str:
    """The first reason that uv gives for a failure, without addresses."""
    lines = [line.strip() for line in answer.stderr.splitlines() if "Using Python" not in line]
    text = re.sub(r"`?\w+://[^\s`)]+`?", "(address)", " ".join(filter(None, lines)))
    text = text.removeprefix("error: ").removeprefix(NO_SOLUTION).partition(CONCLUSION)[0]
    if len(text) > MOST:
        text = f"{text[: MOST - 1]}…"
    return text or "uv gives no reason"


def without_wheel(answer: subprocess.CompletedProcess[str]) -> str | None:
    """The package for which uv found no wheel, or None if uv failed for another reason."""
    for message in (
        r"Wheels are required for `([^`]+)`",
        r"Package `([^`]+)` can't be installed because it is marked as `--no-build`",
        rf"({NAME})(?:\{{[^}}]*\}})?(?:,?[=~!<>]=?[^\s,]+)* has no (?:usable )?wheels?\b",
    ):
        if named := re.search(message, answer.stderr):
            return named[1]
    return None


def environment() -> dict[str, str]:
    """The environment variables to run uv with."""
    return {**os.environ, **from_pip(os.environ, pip_files())}


def indexes() -> list[str]:
    """The addresses of the package indexes that uv or pip is set to."""
    given = environment()
    names = PASSED_ON["index-url"] + PASSED_ON["extra-index-url"]
    found = " ".join(given.get(name, "") for name in names).split()
    return [re.sub(r"^[\w.-]+=", "", each) for each in found]  # an index of uv may have a name


def from_pip(given: Mapping[str, str], files: Sequence[Path]) -> dict[str, str]:
    """Pip's variables and configuration files (later ones win) as uv's variables."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(files, encoding="utf-8")
    except configparser.Error:
        parser.clear()
    result = {}
    for option, names in PASSED_ON.items():
        value = given.get(f"PIP_{option.upper().replace('-', '_')}")
        for section in ("install", "global"):
            value = value or parser.get(section, option, fallback=None)
        if value and not any(name in given for name in names):
            result[names[0]] = " ".join(value.split())
    return result


def pip_files() -> list[Path]:
    """The configuration files of pip, least important first."""
    places = [Path(site) / "pip/pip.conf" for site in platformdirs.site_config_dir().split(":")]
    places += [Path("/etc/pip.conf"), Path.home() / ".pip/pip.conf"]
    places += [platformdirs.user_config_path() / "pip/pip.conf", Path(sys.prefix) / "pip.conf"]
    if own := os.environ.get("PIP_CONFIG_FILE"):
        places.append(Path(own))
    return places
