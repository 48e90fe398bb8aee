"""uv is asked for one version of all builds; that it cannot be reached takes one line to say."""

import json

import pytest

from scaling.base.errors import ScalingError
from scaling.builds.interpreters import parse_build
from scaling.builds.interpreters.find import download
from tests.support.fake_builds import Uv, answer, say_nothing

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
        offers("3.14.9", "3.14.10", "3.14.11"),
        offers("3.14.9", "3.14.10", free_threaded=True),
    )
    download(BOTH, say=say_nothing, uv=pretended)
    assert pretended.commands[-1].endswith(" cpython-3.14.10-default cpython-3.14.10-freethreaded")


def test_nothing_is_put_on_the_users_path() -> None:
    pretended = uv(offers("3.14.9"), "")
    download(BOTH[:1], say=say_nothing, uv=pretended)
    assert "--no-bin" in pretended.commands[-1]


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
