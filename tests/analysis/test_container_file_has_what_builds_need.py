"""What `.github/Containerfile` installs, sets and runs is what builds ask for and the README says.

No image is built here: this machine may have no program for that, and a build takes half an hour.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from scaling.builds import interpreters
from scaling.builds.interpreters import source
from scaling.machine.identity import STATE_VARIABLE, state_folder
from tests.analysis.test_examples_of_pages_work import NOXFILE, parsed
from tests.analysis.test_programs_are_named_alike import PACKAGES
from tests.support.children import ROOT
from tests.support.pages import TEXTS

PUBLISHING = TEXTS["scaling/publishing.md"]
FILE = (ROOT / ".github" / "Containerfile").read_text(encoding="utf-8")
KNOWN = ("SCALING_CACHE", "SCALING_PGO")
RUNTIME = {
    "libbz2-dev": "libbz2-1.0",
    "libffi-dev": "libffi8",
    "liblzma-dev": "liblzma5",
    "libsqlite3-dev": "libsqlite3-0",
    "libssl-dev": "libssl3",
    "zlib1g-dev": "zlib1g",
}
"""Of each library that CPython is built with, the package that a program needs which uses it."""


def instructions() -> Iterator[tuple[str, str]]:
    """Each instruction with its text, on one line."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", FILE, flags=re.MULTILINE))
    for line in filter(None, joined.splitlines()):
        word, _, text = line.partition(" ")
        yield word, text


def stages() -> Iterator[list[tuple[str, str]]]:
    stage: list[tuple[str, str]] = []
    for word, text in instructions():
        if word == "FROM" and stage:
            yield stage
            stage = []
        stage.append((word, text))
    yield stage


FIRST, LAST = stages()


def installed(stage: list[tuple[str, str]]) -> set[str]:
    """The packages of Debian that a stage installs."""
    (asked,) = re.findall(r"apt-get install ([^&\n]*)", "\n".join(text for _, text in stage))
    return {word for word in asked.split() if not word.startswith("--")}


def variables(stage: list[tuple[str, str]]) -> dict[str, str]:
    words = [word for kind, text in stage if kind == "ENV" for word in shlex.split(text)]
    return dict(word.split("=", 1) for word in words)


def commands(stage: list[tuple[str, str]]) -> list[list[str]]:
    """The words of every command that is run while a stage is made."""
    texts = [part for kind, text in stage if kind == "RUN" for part in text.split(" && ")]
    return [shlex.split(text) for text in texts]


def test_both_stages_are_of_the_debian_that_packages_are_named_for() -> None:
    assert FIRST[0] == ("FROM", "debian:12 AS built")
    assert LAST[0] == ("FROM", "debian:12")


def test_the_first_stage_has_what_building_cpython_needs() -> None:
    needed = set(" ".join(need.apt for need in source.NEEDS).split())
    assert installed(FIRST) == {"ca-certificates", "python3-venv", *needed}


def test_the_last_stage_has_the_libraries_and_programs_but_no_compiler() -> None:
    needed = set(" ".join(need.apt for need in source.NEEDS).split())
    assert RUNTIME.keys() == needed - {"gcc", "libc6-dev", "make"}
    programs = {"libjemalloc2", "libtcmalloc-minimal4", "nginx", "pgbouncer"}
    assert programs <= set(PACKAGES)
    own = {"ca-certificates", "git", "python3-venv"}
    assert installed(LAST) == {*own, *programs, *RUNTIME.values()}


def test_nox_is_installed_as_the_readme_says_and_runs_a_session_that_makes_the_builds() -> None:
    install = r"^\$ python3 -m venv \.venv && (\S+) install (.*)$"
    (readme,) = re.findall(install, PUBLISHING, re.MULTILINE)
    venv, pip = commands(FIRST)[2:4]
    assert venv == ["python3", "-m", "venv", "/opt/nox"]
    assert pip == [readme[0].replace(".venv", "/opt/nox"), "install", *readme[1].split()]
    (nox,) = (words for words in commands(FIRST) if words[0] == "/opt/nox/bin/nox")
    assert LAST[-1] == ("ENTRYPOINT", '["/opt/nox/bin/nox"]')
    assert nox[1:3] == ["-s", "reference"]
    makes = r"def reference\(.*\n.*\n    python = analysis_python\(session, TESTED"
    assert re.search(makes, NOXFILE)
    copied = {name for kind, text in FIRST if kind == "COPY" for name in text.split()[:-1]}
    assert copied == {"noxfile.py", "pyproject.toml", "scaling", "workers"}


def test_its_commands_are_understood() -> None:
    """Those that are run, and those in its comment: parsed as the command line would be."""
    comment = re.sub(r" \\\n#\s*", " ", FILE).replace("\n#", "\n")
    asked = [shlex.split(each) for each in re.findall(r"-s reference -- (.*)", comment)]
    assert [words[0] for words in asked] == ["--hours", "--submit", "--list"]
    shown = [shlex.split(each) for each in re.findall(r"nox -s reference -- (.*)", PUBLISHING)]
    for words in [*asked, *shown]:
        assert parsed(["reference", *words])


def test_builds_have_pgo_and_are_found_where_the_first_stage_made_them() -> None:
    first, last = variables(FIRST), variables(LAST)
    assert first["SCALING_PGO"] == last["SCALING_PGO"] == "1"
    assert first["SCALING_CACHE"] == last["SCALING_CACHE"] == "/opt/scaling"
    assert [text for kind, text in LAST if kind == "COPY"] == ["--from=built /opt /opt"]
    assert first[interpreters.VARIABLE] == last[interpreters.VARIABLE].split(",")[0] == "built"


def test_what_a_session_remembers_is_in_the_clone_and_no_part_of_the_image() -> None:
    first, last = (state_folder(variables(stage)) for stage in (FIRST, LAST))
    assert first == Path("/tmp/state")
    assert not first.is_relative_to("/opt")
    (clone,) = (text for kind, text in LAST if kind == "WORKDIR")
    assert last == Path(clone, "results", "state")
    assert STATE_VARIABLE in variables(LAST)
    assert ["git", "config", "--system", "safe.directory", clone] in commands(LAST)
    known = {*KNOWN, interpreters.VARIABLE, STATE_VARIABLE}
    assert set(variables(LAST)) == set(variables(FIRST)) == known
