"""`index.html` beside the machines has what their studies are about, and each row is a link."""

import json
from pathlib import Path

import pytest

from scaling.base.errors import UsageError
from scaling.report.index import index_page, ratios, studies, write_index
from scaling.report.publish import PAGE
from tests.support.cli import Command
from tests.support.html_outline import Outline
from tests.support.studies import FakeStudy, threads

PAIRS = (("3.14t", "threads"), ("3.14", "processes"))
FLAT = {("3.14t", "threads", n): 1.0 for n in (1, 2)}
STUDIES = {
    "epyc/compare": FakeStudy(configurations=PAIRS, workers=(1, 2), blocks=6, ticks=4),
    "another one/scale": threads(),
    "epyc/flat": threads(variants={"compute": [{}]}, speeds=FLAT),  # which makes it void
}


@pytest.mark.usefixtures("undrawn")
def test_publish_writes_it_anew_where_there_is_one_and_no_other_page(
    tmp_path: Path, command: Command
) -> None:
    root = tmp_path / "published"
    for place, study in STUDIES.items():
        assert not (root / PAGE).exists()
        study.write(tmp_path / "measured" / place)
        done = command("publish", f"measured/{place}", f"published/{place}")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"published: published/{place}, with 0 plots\n"
    write_index(root)
    shown = Outline((root / PAGE).read_text(encoding="utf-8"))
    found = ratios(studies(root))
    assert all(each in shown.root.words for each in found["said"])
    assert "void" in shown.root.words
    assert set(found["study"]) == {"compare", "scale"}
    assert {each.attributes["href"] for each in shown.all("a")} >= {
        f"{each}/{PAGE}" for each in ("epyc/compare", "another%20one/scale", "epyc/flat")
    }
    (root / PAGE).write_text((root / PAGE).read_text().replace("another", "an old"))
    again = ("publish", "measured/another one/scale", "published/another one/scale")
    assert command(*again).returncode == 0
    assert "another" in (root / PAGE).read_text()
    (root / PAGE).write_text("<title>My own</title>")
    assert command(*again).returncode == 0
    assert (root / PAGE).read_text() == "<title>My own</title>"
    for name, (right, wrong) in {
        "environment.json": ("{", "["),
        "comparison.csv": (",2,", ",two,"),
    }.items():
        broken = root / "epyc" / "compare" / name
        text = broken.read_text()
        broken.write_text(text.replace(right, wrong))
        with pytest.raises(UsageError, match=f"{name}: .* Publish that study again"):
            write_index(root)
        broken.write_text(text)
    (root / "epyc" / "compare" / "comparison.csv").unlink()
    assert set(ratios(studies(root))["machine"]) == {"another one"}
    about = root / "another one" / "scale" / "environment.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"simulated": True}))
    assert ratios(studies(root)).empty
    assert index_page(tmp_path / "measured").count("<table") == 0, "without a study it is a page"
