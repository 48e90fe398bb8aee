"""Interpreters that uv downloads into its own store (python-build-standalone: PGO and LTO)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence

from scaling.base.errors import ScalingError
from scaling.builds import uv_tool
from scaling.builds.cache import Say
from scaling.builds.cpython import Build
from scaling.builds.interpreters.find import version_key

# One try instead of three with growing pauses: behind a package mirror the answer stays no.
IMPATIENT = {"UV_HTTP_RETRIES": "0", "UV_HTTP_CONNECT_TIMEOUT": "5"}

Uv = Callable[..., "subprocess.CompletedProcess[str]"]


def download(builds: Sequence[Build], *, say: Say, uv: Uv = uv_tool.run) -> None:
    """Have uv install `builds`, in the newest patch version that it offers for all of them.

    Raises:
        ScalingError: uv does not offer all of them, or they cannot be downloaded from here.
    """
    offered = {build: _offered(build, uv) for build in builds}
    for minor in {build.minor for build in builds}:
        of_minor = [build for build in builds if build.minor == minor]
        common = set.intersection(*(set(offered[build]) for build in of_minor))
        if not common:
            raise ScalingError(f"uv offers no 3.{minor} for {_names(of_minor)}")
        version = max(common, key=version_key)
        keys = [offered[build][version] for build in of_minor]
        say(f"asking uv for CPython {version} ({_names(of_minor)})")
        answer = uv(["python", "install", "--no-bin", "--no-progress", *keys], **IMPATIENT)
        if answer.returncode != 0:
            raise ScalingError(_why(answer.stderr))


def _offered(build: Build, uv: Uv) -> dict[str, str]:
    """Version → uv's key, of the downloads that uv offers for `build`."""
    # `3.14+gil` asks uv's own store strictly, but no download answers to it; `3.14` does.
    request = f"{build.version}+freethreaded" if build.free_threaded else build.version
    answer = uv(
        ["python", "list", "--only-downloads", "--all-versions", "--output-format=json", request]
    )
    try:
        entries = json.loads(answer.stdout or "[]")
    except ValueError:
        entries = []
    variant = "freethreaded" if build.free_threaded else "default"
    return {
        entry["version"]: entry["key"]
        for entry in entries
        if entry["implementation"] == "cpython" and entry["variant"] == variant
    }


def _why(stderr: str) -> str:
    """Why uv failed, in a few words and without an address."""
    if "not allowed" in stderr:
        return "uv is configured not to download interpreters"
    if "offline" in stderr.lower() or "network" in stderr.lower():
        return "uv is configured to work offline"
    if "Failed to download" in stderr or "request" in stderr:
        return "uv cannot reach its download server from here"
    return "uv could not install it"


def _names(builds: Sequence[Build]) -> str:
    return ", ".join(build.name for build in builds)
