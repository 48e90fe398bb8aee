"""How uv is called: where its binary is, and which package index it uses.

uv does not read pip's configuration. On a machine whose pip is set to a mirror, `pip install` works
and uv would not. So pip's settings (index, certificates) are passed to uv, unless uv has its own.
"""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import platformdirs

from scaling.base.errors import ScalingError

# pip's option → uv's variable, and older names for the same.
PASSED_ON = {
    "index-url": ("UV_DEFAULT_INDEX", "UV_INDEX_URL"),
    "extra-index-url": ("UV_INDEX", "UV_EXTRA_INDEX_URL"),
    "cert": ("SSL_CERT_FILE",),
    "trusted-host": ("UV_INSECURE_HOST",),
}


def binary() -> str:
    """The path of the uv binary: that of the Python package `uv`, else the one on PATH.

    Raises:
        ScalingError: there is none.
    """
    try:
        import uv

        return str(uv.find_uv_bin())
    except (ImportError, FileNotFoundError):
        found = shutil.which("uv")
    if found is None:
        raise ScalingError("uv is needed and is not installed. Get it with: pip install uv")
    return found


def run(arguments: Sequence[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run uv with `arguments`; `variables` are added to its environment.

    The caller checks the exit code. Nothing is printed.
    """
    return subprocess.run(
        [binary(), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**environment(), **variables},
    )


def environment() -> dict[str, str]:
    """The environment variables to run uv with."""
    return {**os.environ, **from_pip(os.environ, pip_files())}


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
    """Where pip looks for its configuration, least important first."""
    places = [Path(site) / "pip/pip.conf" for site in platformdirs.site_config_dir().split(":")]
    places += [Path("/etc/pip.conf"), Path.home() / ".pip/pip.conf"]
    places += [platformdirs.user_config_path() / "pip/pip.conf", Path(sys.prefix) / "pip.conf"]
    if own := os.environ.get("PIP_CONFIG_FILE"):
        places.append(Path(own))
    return places
