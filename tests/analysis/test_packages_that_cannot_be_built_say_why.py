"""A package that has no wheel and does not build: its own reason, what to do, and where the log is.

What uv prints here was printed by uv 0.13 for these packages.
"""

from pathlib import Path

import pytest

from scaling.base.errors import UsageError
from scaling.builds import uv_tool
from scaling.builds.build_failure import build_failure, reason_in
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
HEADER = f"""\
error: Failed to build `cext @ file:///home/me/cext`
{BACKEND_FAILED}\
         cext.c: In function 'x':
         cext.c:2:20: warning: implicit declaration of function 'PyUnicode_READY2'
         cext.c:2:10: fatal error: nowhere.h: No such file or directory
         compilation terminated.
         error: Command '['gcc', '-c', 'cext.c']' returned non-zero exit status 1.
"""
RAISES = f"""\
error: Failed to build `needs_gil==2.1`
{BACKEND_FAILED}\
         Traceback (most recent call last):
           File "<string>", line 1, in <module>
         RuntimeError: needs_gil needs the GIL
"""


@pytest.mark.parametrize(
    ("printed", "package", "reason"),
    [
        (CARGO, "orjson 3.13.0", "orjson v3.13.0 does not support free-threaded Python"),
        (HEADER, "cext", "cext.c:2:10: fatal error: nowhere.h: No such file or directory"),
        (RAISES, "needs-gil 2.1", "RuntimeError: needs_gil needs the GIL"),
    ],
)  # fmt: skip
def test_the_reason_is_the_line_that_says_most(printed: str, package: str, reason: str) -> None:
    found = build_failure(printed)
    assert found is not None
    assert (found.package, found.reason) == (package, reason)


def test_a_reason_is_one_short_line() -> None:
    assert reason_in("") == "it does not say why"
    assert reason_in("[stderr]\n pg_config is required") == "pg_config is required"
    assert reason_in("error[E1]: no import\nerror: could not compile `a`") == "error[E1]: no import"
    assert len(reason_in("error: " + "x" * 5_000)) == 200
    assert build_failure("error: No solution found") is None


def refused(name: str, no_wheel: str, then: str) -> tuple[str, list[str]]:
    said: list[str] = []
    pretended = Uv(
        (f"--no-build -- {name}", answer(stderr=no_wheel, code=1)),
        (f" -- {name}", answer(stderr=then, code=1)),
    )
    with pytest.raises(UsageError) as error:
        OwnRequirements([name]).install(pretended, ["pip", "install"], interpreter(), said.append)
    return str(error.value), said


def test_the_log_is_named_and_has_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path))
    message, said = refused("orjson", NO_WHEEL_OF_ORJSON, CARGO)
    log = tmp_path / "logs/build-orjson-3.13.0-3.14t.log"
    first, second = message.splitlines()
    assert first == (
        "orjson 3.13.0 has no wheel for 3.14t, and its source does not build: "
        "orjson v3.13.0 does not support free-threaded Python"
    )
    assert second.endswith(f"that has a wheel. All that the build printed: {log}")
    assert log.read_text() == CARGO
    assert said == ["  orjson has no wheel for 3.14t: it is built from its source"]


# uv says it of each version: 25,000 characters.
OF_PSYCOPG = "error: No solution found when resolving dependencies\n  cause: " + "\n".join(
    f"Because psycopg-binary{{implementation_name != 'pypy'}}==3.0.{each} has no wheels with a "
    f"free-threading compatible ABI tag and psycopg[binary]==3.0.{each} depends on "
    f"psycopg-binary==3.0.{each}, we can conclude that it cannot be used."
    for each in range(100)
)


def test_what_has_neither_wheel_nor_source_or_cannot_be_resolved_is_said_in_a_line() -> None:
    message, _ = refused("psycopg[binary,pool]", OF_PSYCOPG, OF_PSYCOPG)
    assert message == (
        "psycopg[binary,pool]: psycopg-binary has neither a wheel for 3.14t nor a source. "
        "Ask for a version that has one, or leave it out"
    )
    message, _ = refused("nowhere", "error: no", "error: No solution found when resolving "
                         "dependencies\n  cause: Because nowhere was not found in the package "
                         "registry and you require nowhere, we can conclude that no.")  # fmt: skip
    assert message == (
        "nowhere cannot be installed: Because nowhere was not found in the package registry and "
        "you require nowhere"
    )
    assert len(refused("a", "error: no", f"error: {'long ' * 5_000}")[0]) < 500


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
