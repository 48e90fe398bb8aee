"""The load generator as a program of its own: what it prints."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from tests.support.children import environment
from workers.services.load.tally import Distribution


def generated(url: str, *options: str) -> dict[str, Any]:
    """What it prints; an invalid result (exit code 1) counts here, too."""
    command = [sys.executable, "-m", "workers.services.load", url, "--json", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment())
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def latencies(summary: Mapping[str, Any]) -> Distribution:
    """Of answered and of unfinished requests."""
    windows = summary["windows"]
    return Distribution(each[name] for each in windows for name in ("latency", "censored"))
