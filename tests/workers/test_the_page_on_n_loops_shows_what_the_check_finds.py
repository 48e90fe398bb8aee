"""Each section of the page on N loops quotes an application and what the check prints about it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scaling.base.models import PROCESSES
from scaling.journal.check_file import AppCheck
from scaling.run.check import state
from tests.support.app_checks import APPLICATIONS, check
from tests.support.children import FREE_THREADED, ROOT

pytestmark = [
    *(pytest.mark.slow, pytest.mark.free_threaded),
    pytest.mark.skipif(not FREE_THREADED, reason="loops in threads are for free-threaded builds"),
]

PAGE = (ROOT / "scaling" / "several-loops.md").read_text(encoding="utf-8")
SECTIONS = re.split(r"^## \d+\. ", PAGE, flags=re.MULTILINE)[1:]
MOST = 5  # checks until requests have met at the instant that matters
MOMENT_S = 0.1


def excerpts(section: str) -> list[tuple[str, str]]:
    """The name of the module and the lines of each."""
    return re.findall(r"```python\n# (\w+)\.py\n(.*?)```", section, re.DOTALL)


def checked(section: str, name: str, **parameters: Any) -> AppCheck:
    """The check of an application of the section's module, with its requests."""
    asked = [json.loads(each) for each in re.findall(r"`(\{.*?\})`", section)] or [{"path": "/"}]
    ((module, _), *_) = excerpts(section)
    where: dict[str, Any] = {"alone": 1, "firsts": 0, "together_s": MOMENT_S}
    if "In processes" in section:
        where |= {"workers": (), "models": PROCESSES}
    return check(f"loops.{module}:{name}", asked, **where, **parameters)


def test_ten_sections_quote_their_applications() -> None:
    assert len(SECTIONS) == 10
    for section in SECTIONS:
        assert excerpts(section)
        for module, lines in excerpts(section):
            assert lines in (APPLICATIONS / "loops" / f"{module}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("section", SECTIONS, ids=lambda each: excerpts(each)[0][0])
def test_the_finding_is_printed_by_the_check(section: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from scaling.report.check import finding_lines  # with pandas: all other tests here do without

    monkeypatch.setattr(state, "ROUNDS", 1)  # nothing here differs by chance
    (quoted,) = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    kind = quoted.partition(" ")[0].rstrip(":")
    for left in reversed(range(MOST)):
        found = checked(section, "app")
        printed = "".join(f"{line.removeprefix('  ')}\n" for line in finding_lines(found))
        if re.search(re.escape(quoted).replace("…", ".*"), printed):
            assert {each.kind for each in found.findings} == {kind}
            assert found.ok == (kind == "runs-on-each-loop")
            return
        assert left, f"the page has\n{quoted}and the check prints\n{printed}"


MODULES = {excerpts(each)[0][0]: each for each in SECTIONS}
OF_FASTAPI = ("lock", "orm", "pool", "printers", "settings")


@pytest.mark.parametrize(("module", "name"), [("greeting", "mended"), ("limit", "create_app")])
def test_the_mended_application_passes(module: str, name: str) -> None:
    """A factory of aiohttp is checked with its WebSockets."""
    found = checked(MODULES[module], name, factory=name == "create_app")
    assert (found.ok, found.findings) == (True, [])


MOUNTED = """
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module

from starlette.applications import Starlette
from starlette.routing import Mount

MENDED = {name: import_module(f"loops.{name}").mended for name in NAMES}

@asynccontextmanager
async def lifespan(app):
    state = {}
    async with AsyncExitStack() as stack:
        for each in MENDED.values():
            state |= await stack.enter_async_context(each.router.lifespan_context(each)) or {}
        yield state

app = Starlette(routes=[Mount(f"/{name}", MENDED[name]) for name in NAMES], lifespan=lifespan)
"""


def test_mended_applications_of_fastapi_pass_together(tmp_path: Path) -> None:
    assert {*OF_FASTAPI} < MODULES.keys()
    (tmp_path / "mounted.py").write_text(f"NAMES = {OF_FASTAPI}\n{MOUNTED}")
    requests = [{"path": f"/{name}/"} for name in OF_FASTAPI]
    found = check("mounted:app", requests, tmp_path, alone=1, firsts=0, together_s=MOMENT_S)
    assert (found.ok, found.findings) == (True, [])
