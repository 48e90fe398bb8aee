"""A study or a list of requests that nobody would write is used, or refused in a line or two."""

import json
from contextlib import suppress

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from scaling.base.errors import ScalingError
from scaling.study.definition import OPTIONS
from scaling.study.file import built_in_studies, built_in_text, read_study, study_from
from scaling.study.plan.cells import make_plan
from tests.support.descriptions import description
from tests.support.plans import TWO_CORES, flagged
from workers.services.load.requests_list import read_requests
from workers.services.load.targets import BadInputError

pytestmark = pytest.mark.one_build

TEXT = st.text(max_size=12)
TOML = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from([*OPTIONS, "preset", "name", "parameters", "windw_s"])
WORDS = st.sampled_from(["echo", "compute", "3.14t", "threads", "asyncio", "weak", "50%", "grid"])
WORKLOADS = st.lists(st.dictionaries(KEYS, TOML | WORDS, max_size=4), max_size=3)
TABLES = st.dictionaries(KEYS | TEXT, TOML | WORDS | st.lists(WORDS), max_size=6)
JSON = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
FIELDS = st.sampled_from(["method", "path", "headers", "body", "json", "weight", "status"])
NESTED = JSON | st.dictionaries(TEXT, JSON, max_size=2) | st.lists(JSON, max_size=2)
REQUESTS = st.dictionaries(FIELDS | TEXT, NESTED, max_size=3).map(json.dumps).map(str.encode)
ODD = [
    '{"body": "\u2028"}'.encode(),
    b'{"body": "\\ud800"}',
    b'{"weight": 1e999}',
    b'{"weight": %s}' % (b"1" * 5_000),
    b"nan",
    b"[" * 100_000,
]


def refusal(text: str) -> str:
    """What is wrong with a study of this file; empty if it is planned."""
    try:
        file = read_study(text, "mine.toml")
        study = study_from(flagged(study="mine"), running_build="3.14t", file=file)
        make_plan(study, dict.fromkeys(study.arms, description()), TWO_CORES)
    except ScalingError as error:
        return str(error)
    return ""


@given(TABLES, WORKLOADS)
def test_a_study_of_any_keys_and_values(table: dict[str, object], workloads: list[object]) -> None:
    said = refusal(tomli_w.dumps(table | {"workloads": workloads}))
    assert said.count("\n") <= 1


@given(st.sampled_from(built_in_studies()), st.data())
def test_a_built_in_study_with_a_character_changed(name: str, data: st.DataObject) -> None:
    text = built_in_text(name)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from("\"'[]{}=,.0-9a\n\0é"))
    assert refusal(text[:place] + other + text[place + 1 :]).count("\n") <= 1


@given(st.lists(REQUESTS | st.binary(max_size=40) | st.sampled_from(ODD), max_size=3))
def test_requests_of_any_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    file = tmp_path_factory.getbasetemp() / "requests.jsonl"
    file.write_bytes(b"\n".join(lines))
    with suppress(BadInputError):
        for each in read_requests(str(file)):
            each.on_http("127.0.0.1:80", "/", keepalive=True)
            each.on_tcp()
