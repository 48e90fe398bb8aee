"""Where pip is set to a mirror, uv uses the same one, unless uv has a setting of its own."""

from pathlib import Path

import pytest

from scaling.builds import uv_tool
from scaling.builds.uv_tool import from_pip, pip_files


def test_the_last_file_wins_then_variables_of_pip_and_then_what_uv_was_configured_with(
    tmp_path: Path,
) -> None:
    machine, user = tmp_path / "machine", tmp_path / "user"
    machine.write_text("[global]\nindex-url = https://machine.example/simple\ncert = /ca.pem\n")
    user.write_text("[global]\nindex-url = https://user.example/simple?a=%20b\n")
    files = [machine, user]
    assert from_pip({}, files) == {
        "UV_DEFAULT_INDEX": "https://user.example/simple?a=%20b",
        "SSL_CERT_FILE": "/ca.pem",
    }
    given = {"PIP_INDEX_URL": "https://here.example/simple"}
    assert from_pip(given, files)["UV_DEFAULT_INDEX"] == "https://here.example/simple"
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        assert set(from_pip({name: "https://own.example"}, files)) == {"SSL_CERT_FILE"}
    machine.write_text("[install]\nextra-index-url =\n    https://a\n    https://b\n")
    assert from_pip({}, [machine]) == {"UV_INDEX": "https://a https://b"}
    machine.write_text("no section = x")
    assert from_pip({}, [machine]) == from_pip({}, [tmp_path / "gone"]) == {}


def test_a_file_that_pip_was_given_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/own/pip.conf")
    assert pip_files()[-1] == Path("/own/pip.conf")


def test_uv_is_run_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "uv"
    program.write_text('#!/bin/sh\necho "$1 $UV_DEFAULT_INDEX $ADDED"\n')
    program.chmod(0o755)
    monkeypatch.setattr(uv_tool, "binary", lambda: str(program))
    monkeypatch.setenv("PIP_INDEX_URL", "https://here.example/simple")
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    monkeypatch.delenv("UV_INDEX_URL", raising=False)
    answer = uv_tool.run(["list"], ADDED="1")
    assert answer.stdout == "list https://here.example/simple 1\n"
