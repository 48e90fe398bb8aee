"""Bad input gets one clear message: file or flag, key, what was expected, the nearest name.

A study or a list of requests that nobody would write is used, or refused in a line or two.
"""

import json
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from scaling.base.errors import ScalingError, UsageError, nearest
from scaling.study.definition import OPTIONS
from scaling.study.file import (
    built_in_studies,
    built_in_text,
    load_study_file,
    read_study,
    study_from,
    study_schema,
)
from scaling.study.plan.cells import make_plan
from tests.support.descriptions import ECHO, description
from tests.support.json_schema import faults
from tests.support.plans import ECHO_FILE, TWO_CORES, flagged, planned
from workers.services.load.requests_list import read_requests
from workers.services.load.targets import BadInputError

SCHEMA = study_schema()
BEYOND_THE_SCHEMA = (
    "window_s = inf",
    "margin = 2",
    "arms = ['3.14t+gli']",
    "arms = ['314t']",
    "seed = ",
    "[[workloads]]\nname = 'echo'\n[presets.smoke.parameters.ehco]",
)
IN_A_FILE = (
    "windw_s = 2",
    "window_s = 'long'",
    "window_s = inf",
    "workers = [1, 'two']",
    "workers = 2",
    "workers = [2, 0]",
    "loops = []",
    "blocks = 0",
    "blocks = 2.5",
    "blocks = true",
    "rates = 1_000",
    "warmup_s = -1",
    "margin = 2",
    "margin = 'fine'",
    "precision = 0.02",
    "limit_s = 0",
    "name = '../elsewhere'",
    "aa_pairs = 1",
    "primary = ['gian']",
    "primary = 'gain'",
    "scale = true",
    "preset = 'smok'",
    "models = ['thread']",
    "sizing = ['week']",
    "arms = ['3.14t+gli']",
    "seed = ",
    "workloads = 3",
    "[[workloads]]\nname = 'echo'\nblocks = 3",
    "[[workloads]]\nnmae = 'echo'",
    "[[workloads]]\nworkers = [1]",
    "[[workloads]]\nname = 'echo'\nworkers = [0]",
    "[[workloads]]\nname = 'echo'\nparameters = 3",
    "arms = ['314t']",
    "slo = ['p99<20']",
    "slo = ['p98<20ms']",
    "presets = 3",
    "[presets.smok]",
    "[presets.smoke]\nblokcs = 2",
    "[[workloads]]\nname = 'echo'\n[presets.smoke.parameters.ehco]",
)
FLAGS: tuple[dict[str, Any], ...] = (
    {"workers": ("1,-2",)},
    {"workers": ("two",)},
    {"workers": ("1,,2",)},
    {"seconds": float("nan")},
    {"seconds": 1e5},
    {"limit": 0},
    {"blocks": 10**7},
    {"margin": "200%"},
    {"time": "soon"},
    {"time": "48h"},
    {"time": "30min", "blocks": 9},
    {"scale": "0"},
    {"preset": "rigourous"},
    {"model": ("tasks",)},
    {"set": ("echo",)},
    {"set": ("echo=3",)},
    # What only the children know.
    {"workload": ("ehco",)},
    {"workload": ("my.own:Broken",)},
    {"loop": ("uvlop",)},
    {"set": ("ecko.tls=true",)},
    {"set": ("echo.payload=1",)},
    {"set": ("echo.tls=yes",)},
    {"set": ("echo.connections=8,0",)},
    {"set": ("echo.work_us=nan",)},
    {"set": ("echo.api=stream",)},
)
PARAMETERS = (
    "payload = 1",
    "payload_bytes = '1k'",
    "payload_bytes = true",
    "payload_bytes = [1, [2]]",
    "payload_bytes = []",
    "tls = 2026-11-20",
)


def refusal(text: str = ECHO_FILE, **options: Any) -> str:
    """What is said of a study of this file with these flags, in a line, but for the known names."""
    broken = replace(ECHO, path="my.own:Broken", refused="ImportError: no luck")
    with pytest.raises(UsageError) as caught:
        planned(text, workloads={"my.own:Broken": broken}, **options)
    assert caught.value.exit_code == 2
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value).partition(" There are: ")[0]


def test_an_error_in_a_study_file_names_file_and_key(snapshot: SnapshotAssertion) -> None:
    """Editors that complete study files by the schema show it, too, but for what TOML has not."""
    assert {text: refusal(text) for text in IN_A_FILE} == snapshot
    for text in set(IN_A_FILE) - {*BEYOND_THE_SCHEMA}:
        whole = f"{text}\n{'' if 'workloads' in text else ECHO_FILE}"
        assert faults(tomllib.loads(whole), SCHEMA), text


def test_an_error_in_a_flag_names_the_flag(snapshot: SnapshotAssertion) -> None:
    assert [refusal(**options) for options in FLAGS] == snapshot


def test_a_parameter_in_the_file_is_named_by_its_place(snapshot: SnapshotAssertion) -> None:
    texts = (f"{ECHO_FILE}[workloads.parameters]\n{each}" for each in PARAMETERS)
    assert [refusal(text) for text in texts] == snapshot


def test_an_unknown_or_missing_study_file_is_an_error(tmp_path: Path) -> None:
    """It names the nearest and all others."""
    said = r"unknown study 'scael'. Did you mean 'scale'\?"
    with pytest.raises(UsageError, match=said) as caught:
        load_study_file("scael")
    assert all(name in str(caught.value) for name in built_in_studies())
    with pytest.raises(UsageError, match="there is no such study file"):
        load_study_file(str(tmp_path / "none.toml"))
    (tmp_path / "picture.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_study_file(str(tmp_path / "picture.toml"))
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(UsageError, match=r"no journal\.jsonl in this folder"):
        load_study_file(str(tmp_path / "folder.toml"))


def test_a_suggestion_is_made_only_where_it_is_near() -> None:
    assert nearest("ECHO", ["echo", "scrape"]) == "echo"
    assert nearest("strem", ["stream", "scrape"]) == "stream"
    assert nearest("zzz", ["stream", "scrape"]) is nearest("echo", []) is None


# --- any keys and values ------------------------------------------------------------------------

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


def said_of(text: str) -> str:
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
    assert said_of(tomli_w.dumps(table | {"workloads": workloads})).count("\n") <= 1


@given(st.sampled_from(built_in_studies()), st.data())
def test_a_built_in_study_with_a_character_changed(name: str, data: st.DataObject) -> None:
    text = built_in_text(name)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from("\"'[]{}=,.0-9a\n\0é"))
    assert said_of(text[:place] + other + text[place + 1 :]).count("\n") <= 1


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
