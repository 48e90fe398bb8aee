"""A package that has no wheel and does not build: its own reason, what to do, and where the log is.

What uv prints here was printed by uv 0.13 for these packages.
"""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from scaling.base.errors import UsageError
from scaling.builds import uv_tool
from scaling.builds.own_requirements import OwnRequirements
from tests.support.fake_builds import Uv, answer, interpreter

NO_WHEEL_OF_ORJSON = """\
error: No solution found when resolving dependencies
  cause: Because only the following versions of orjson are available:
             orjson<=2.0.6
             orjson>=2.0.7
         and orjson<=2.0.6 has no wheels with a matching Python ABI tag, we can conclude that
         orjson<2.0.7
         cannot be used.
"""
BACKEND_FAILED = "  cause: The build backend returned an error\n\n         [stderr]\n"
CARGO = f"""\
error: Failed to build `orjson==3.13.0`
{BACKEND_FAILED}\
            Compiling orjson v3.13.0 (/src)
         error: failed to run custom build command for `orjson v3.13.0 (/src)`

         Caused by:
           process didn't exit successfully: `/src/build-script-build` (exit status: 1)
           --- stderr

           orjson v3.13.0 does not support free-threaded Python

         warning: build failed, waiting for other jobs to finish...
         💥 maturin failed

hint: Build failures usually indicate a problem with the package or the build environment
"""
RAISES = f"""\
error: Failed to build `needs_gil==2.1`
{BACKEND_FAILED}\
         Traceback (most recent call last):
           File "<string>", line 1, in <module>
         RuntimeError: needs_gil needs the GIL
"""


def refused(name: str, no_wheel: str, then: str) -> tuple[str, list[str]]:
    said: list[str] = []
    pretended = Uv(
        (f"--no-build -- {name}", answer(stderr=no_wheel, code=1)),
        (f" -- {name}", answer(stderr=then, code=1)),
    )
    with pytest.raises(UsageError) as error:
        OwnRequirements([name]).install(pretended, ["pip", "install"], interpreter(), said.append)
    return str(error.value), said


# uv says it of each version: 25,000 characters.
OF_PSYCOPG = "error: No solution found when resolving dependencies\n  cause: " + "\n".join(
    f"Because psycopg-binary{{implementation_name != 'pypy'}}==3.0.{each} has no wheels with a "
    f"free-threading compatible ABI tag and psycopg[binary]==3.0.{each} depends on "
    f"psycopg-binary==3.0.{each}, we can conclude that it cannot be used."
    for each in range(100)
)


NOWHERE = (
    "error: No solution found when resolving dependencies\n  cause: Because nowhere was not found "
    "in the package registry and you require nowhere, we can conclude that no."
)


def test_the_reason_is_the_line_that_says_most_and_the_log_has_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path))
    found = {}
    for name, no_wheel, then in (
        ("orjson", NO_WHEEL_OF_ORJSON, CARGO),
        ("needs_gil", NO_WHEEL_OF_ORJSON, RAISES),
        ("psycopg[binary,pool]", OF_PSYCOPG, OF_PSYCOPG),
        ("nowhere", "error: no", NOWHERE),
        ("a", "error: no", f"error: {'long ' * 5_000}"),
    ):
        message, said = refused(name, no_wheel, then)
        assert len(message) < 500
        found[name] = [*message.replace(str(tmp_path), "CACHE").splitlines(), *said]
    assert found == snapshot
    assert (tmp_path / "logs/build-orjson-3.13.0-3.14t.log").read_text() == CARGO


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        (NO_WHEEL_OF_ORJSON, "orjson"),
        (OF_PSYCOPG, "psycopg-binary"),
        ("Because docopt==0.6.2 has no usable wheels and you require docopt==0.6.2", "docopt"),
        ("Because foo_bar2>=1.0,<2 has no wheels with a matching platform tag", "foo_bar2"),
        ("Package `member` can't be installed because it is marked as `--no-build`", "member"),
        ("Because 2.0.6 has no wheel", None),
    ],
)
def test_a_version_is_not_taken_for_a_name(printed: str, name: str | None) -> None:
    assert uv_tool.without_wheel(answer(stderr=printed)) == name
