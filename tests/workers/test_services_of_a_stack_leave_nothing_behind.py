"""PostgreSQL, pgbouncer and nginx: there for a run, measured, and gone whatever happens."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import asyncpg
import psutil
import pytest

from scaling.journal.record import ParameterValue, ServiceUse
from scaling.run.service_process import ServiceError, ServiceProcess
from scaling.run.services import Services
from scaling.study.services import POSTGRES, SERVICES, beside
from tests.support.servers import LIMIT_S, environment
from tests.support.waiting import until
from workers.services.native.folder import own_folder, remove_abandoned
from workers.services.postgres.table import LETTERS, letters

ROWS = 100
STACK: dict[str, ParameterValue] = {
    "rows": ROWS,
    "pooler": "pgbouncer",
    "db_connections": 3,
    "proxy": "nginx",
    "keep_alive": True,
    "delay_ms": 0,
}
ABORTED = 50

needs_programs = pytest.mark.skipif(False, reason="")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where services of these tests have their folders, and whatever is left of them would be."""
    return tmp_path_factory.mktemp("stack")


@pytest.fixture(scope="module")
def services(place: Path) -> Iterator[Services]:
    variables = environment() | {"TMPDIR": str(place)}
    with Services(sys.executable, variables, data=place / "kept") as running:
        yield running


def left_in(place: Path) -> list[str]:
    """Folders of services, and processes that work in one."""
    folders = [str(each) for each in place.glob("scaling-service-*")]
    processes = []
    for each in psutil.process_iter():
        try:
            if each.cwd().startswith(str(place)):
                processes.append(str(each))
        except psutil.Error:
            continue
    return folders + processes
