"""The shapes of the record are what is written, what is read, and what a child prints."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scaling.journal.record import (
    CeilingLine,
    Line,
    Record,
    RunLine,
    SetAsideLine,
    decode_description,
    decode_line,
    decode_record,
    encode_line,
)
from tests.support.children import PATIENCE_S
from tests.support.fabricate import Made, journal

ROOT = Path(__file__).parents[2]


def every_kind() -> list[Line]:
    lines = journal(Made(workers=(1, 2), blocks=1))
    return [*lines, CeilingLine(service="site", requests_per_s=9.5), SetAsideLine(text='{"kin')]


@pytest.mark.parametrize("line", every_kind(), ids=lambda line: type(line).__name__)
def test_a_line_comes_back_as_it_was_written(line: Line) -> None:
    written = encode_line(line)
    assert written.endswith(b"}\n")
    assert written.count(b"\n") == 1
    assert decode_line(written) == line


def test_a_field_of_a_later_version_is_passed_over() -> None:
    line = journal(Made(workers=(1,), blocks=1))[1]
    fields = json.loads(encode_line(line))
    fields["later"] = 1
    fields["record"]["workers"][0]["ticks"]["later_ns"] = [1, 2]
    assert decode_line(json.dumps(fields)) == line


def test_a_kind_of_a_later_version_is_no_line_of_ours() -> None:
    assert decode_line('{"kind": "weather", "sunny": true}') is None


@pytest.mark.parametrize("data", ["", "{}", "[1]", '{"kind": "run"}', '{"kind": "run", "cell":'])
def test_rubbish_is_an_error(data: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_line(data)


def test_a_record_is_kept_with_the_fields_that_we_do_not_know() -> None:
    line = journal(Made(workers=(1,), blocks=1))[1]
    assert isinstance(line, RunLine)
    printed = json.dumps({"schema": 1, "outcome": "measured", "new": {"x": [1, None]}}, indent=1)
    written = encode_line(line, record=printed.encode())
    assert written.count(b"\n") == 1
    assert json.loads(written)["record"] == json.loads(printed)
    again = decode_line(written)
    assert isinstance(again, RunLine)
    assert again.record == Record(schema=1, outcome="measured")
    assert again.cell == line.cell


def workers(*arguments: str, stdin: str = "") -> bytes:
    command = [sys.executable, "-m", "workers", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, input=stdin.encode(), capture_output=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def unknown_keys(printed: Any, known: Any) -> list[str]:
    """Keys of one JSON document that the other, made from our shapes, does not have."""
    if isinstance(printed, dict) and isinstance(known, dict):
        return [
            problem
            for key, value in printed.items()
            for problem in (unknown_keys(value, known[key]) if key in known else [key])
        ]
    if isinstance(printed, list) and isinstance(known, list):
        pairs = zip(printed, known, strict=True)
        return [problem for one, other in pairs for problem in unknown_keys(one, other)]
    return []


@pytest.mark.slow
@pytest.mark.parametrize("model", ["threads", "processes"])
def test_every_field_that_a_child_prints_is_known(model: str) -> None:
    cell = {"workload": "compute", "model": model, "workers": 2, "warmup_s": 0.01, "window_s": 0.05}
    printed = workers(stdin=json.dumps(cell))
    record = decode_record(printed)
    assert record.outcome == "measured"
    assert unknown_keys(json.loads(printed), msgspec.to_builtins(record)) == []


@pytest.mark.one_build
@pytest.mark.slow
def test_every_field_of_a_description_is_known() -> None:
    printed = workers("--describe")
    description = decode_description(printed)
    assert "echo" in description.workloads
    assert unknown_keys(json.loads(printed), msgspec.to_builtins(description)) == []
