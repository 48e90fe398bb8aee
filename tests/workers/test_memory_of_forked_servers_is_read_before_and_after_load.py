"""Forked servers share what was imported until requests read it: memory is read at both moments."""

import sys

import pytest

from scaling.journal.record import Memory
from tests.support.serving import served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="PSS is Linux's"),
]

CATALOGUE = {"application": "tests.applications.catalogue.main:create_app", "factory": True}
MIB = 1 << 20


def memory(model: str) -> Memory:
    ending = served("app", model=model, workers=2, parameters=CATALOGUE, window_s=1.0)
    assert ending.outcome == "measured", (ending.record and ending.record.failure, ending.stderr)
    return ending.memory


def grown_mib(found: Memory) -> float:
    assert found.pss_bytes is not None
    assert found.idle_pss_bytes is not None
    return (found.pss_bytes - found.idle_pss_bytes) / MIB


def test_what_requests_read_is_copied_by_each_forked_worker_and_by_no_thread() -> None:
    assert grown_mib(memory("forked")) > 15
    assert grown_mib(memory("threads")) < 10


def test_a_run_without_a_server_has_no_memory_before_the_load() -> None:
    ending = served("compute", workers=1, rate_per_s=None)
    assert ending.memory.idle_pss_bytes is None
