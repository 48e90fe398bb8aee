"""Bad input gets one clear message: file or flag, key, what was expected, the nearest name."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from scaling.base.errors import UsageError, nearest
from scaling.study.file import built_in_studies, load_study_file, study_schema
from tests.support.descriptions import ECHO
from tests.support.json_schema import faults
from tests.support.plans import ECHO_FILE, planned

SCHEMA = study_schema()
BEYOND_THE_SCHEMA = ("window_s = inf", "margin = 2", "arms = ['3.14t+gli']", "seed = ")
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
