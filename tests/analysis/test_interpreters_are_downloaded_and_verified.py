"""No source is built whose SHA-256 is not the pinned one, wherever it came from.

uv is asked for one version of all builds; that it cannot be reached takes one line to say.
"""

import hashlib
import json
from pathlib import Path

import pytest

from scaling.base.errors import ScalingError, UsageError
from scaling.builds.cache import Say
from scaling.builds.cpython import parse_build
from scaling.builds.interpreters import source
from scaling.builds.interpreters.find import download
from tests.support.fake_builds import Uv, answer, say_nothing

GOOD, OTHER = b"the release", b"that of another version"


@pytest.fixture(autouse=True)
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = tmp_path / "good"
    good.write_bytes(GOOD)
    other = hashlib.sha256(OTHER).hexdigest()
    monkeypatch.setattr(source, "SHA256", {"3.14.7": source.sha256(good), "3.15.0rc2": other})
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SCALING_CPYTHON_SOURCE", raising=False)


def gives(content: bytes) -> source.Fetch:
    def fetch(version: str, path: Path, say: Say) -> None:
        del version, say
        path.write_bytes(content)

    return fetch


def cannot(reason: str) -> source.Fetch:
    return lambda version, path, say: reason


def test_it_is_downloaded_once_and_again_where_it_was_forged_or_damaged() -> None:
    kept = source.tarball("3.14.7", say=say_nothing, providers=[gives(b"forged"), gives(GOOD)])
    assert kept.read_bytes() == GOOD
    assert source.tarball("3.14.7", say=say_nothing, providers=[cannot("asked again")]) == kept
    kept.write_bytes(b"damaged")
    source.tarball("3.14.7", say=say_nothing, providers=[gives(GOOD)])
    assert kept.read_bytes() == GOOD


def test_nothing_forged_stays(tmp_path: Path) -> None:
    providers = [gives(b"forged"), cannot("out of order")]
    with pytest.raises(ScalingError, match="SHA-256 differs; out of order") as caught:
        source.tarball("3.14.7", say=say_nothing, providers=providers)
    assert "SCALING_CPYTHON_SOURCE" in str(caught.value)
    left = [path.name for path in (tmp_path / "cache/sources").iterdir()]
    assert [name for name in left if not name.endswith(".lock")] == []


def test_a_file_of_the_users_own_is_taken_as_it_is_for_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCALING_CPYTHON_SOURCE", str(tmp_path / "good"))
    assert source.tarball("3.14.7", say=say_nothing, providers=[]) == tmp_path / "good"
    kept = source.tarball("3.15.0rc2", say=say_nothing, providers=[gives(OTHER)])
    assert kept.read_bytes() == OTHER


@pytest.mark.parametrize(("name", "fault"), [("gone", "is not a file"), ("forged", "SHA-256")])
def test_a_wrong_file_of_the_users_own_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fault: str
) -> None:
    (tmp_path / "forged").write_bytes(b"forged")
    monkeypatch.setenv("SCALING_CPYTHON_SOURCE", str(tmp_path / name))
    with pytest.raises(UsageError, match=fault):
        source.tarball("3.14.7", say=say_nothing, providers=[gives(GOOD)])


BOTH = [parse_build("3.14"), parse_build("3.14t")]

UNREACHABLE = """\
error: Failed to install cpython-3.14.10-linux-x86_64-gnu
  cause: Failed to download `https://somewhere.example/cpython-3.14.10.tar.gz`
  cause: error sending request for url (https://somewhere.example/cpython-3.14.10.tar.gz)
"""


def offers(*versions: str, free_threaded: bool = False) -> str:
    variant = "freethreaded" if free_threaded else "default"
    entries = [
        {"version": v, "key": f"cpython-{v}-{variant}", "variant": variant, "implementation": i}
        for v in versions
        for i in ("cpython", "pypy")
    ]
    return json.dumps(entries)


def uv(gil: str, free_threaded: str, installs: object = None) -> Uv:
    return Uv(
        ("python list --only-downloads --all-versions --output-format=json 3.14+freethreaded",
         answer(free_threaded)),
        ("python list", answer(gil)),
        ("python install", installs or answer()),  # type: ignore[arg-type]
    )  # fmt: skip


def test_the_newest_version_of_both_is_installed_at_once() -> None:
    pretended = uv(
        offers("3.14.9", "3.14.10", "3.14.11"), offers("3.14.9", "3.14.10", free_threaded=True)
    )
    download(BOTH, say=say_nothing, uv=pretended)
    assert pretended.commands[-1].endswith(" cpython-3.14.10-default cpython-3.14.10-freethreaded")
    assert "--no-bin" in pretended.commands[-1]  # nothing is put on the user's path


@pytest.mark.parametrize(
    "free_threaded", ["", "[]", "no JSON", offers("3.14.8", free_threaded=True)]
)
def test_a_version_that_only_one_has_is_not_installed(free_threaded: str) -> None:
    pretended = uv(offers("3.14.9"), free_threaded)
    with pytest.raises(ScalingError, match="uv offers no"):
        download(BOTH, say=say_nothing, uv=pretended)
    assert not any("python install" in command for command in pretended.commands)


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        (UNREACHABLE, "cannot reach its download server"),
        ("Python downloads are not allowed (`python-downloads = \"never\"`)", "configured not to"),
        ("error: network connectivity is disabled", "configured to work offline"),
        ("error: no space left on device", "could not install"),
    ],
)  # fmt: skip
def test_a_failure_is_one_line_without_an_address(stderr: str, reason: str) -> None:
    pretended = uv(offers("3.14.9"), "", answer(stderr=stderr, code=1))
    with pytest.raises(ScalingError, match=reason) as caught:
        download(BOTH[:1], say=say_nothing, uv=pretended)
    assert "\n" not in str(caught.value)
    assert "example" not in str(caught.value)
