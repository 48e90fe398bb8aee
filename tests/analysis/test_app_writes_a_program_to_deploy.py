"""`scaling app --write` writes the tested program to a new file, for what it can serve."""

from pathlib import Path

import pytest

from scaling.base.errors import UsageError
from scaling.cli import main
from scaling.report.deploy.write import TEMPLATE, write_program


def test_what_is_written_is_what_is_tested(tmp_path: Path) -> None:
    write_program(tmp_path / "serve.py", "asgi")
    assert (tmp_path / "serve.py").read_bytes() == TEMPLATE.read_bytes()


def test_a_file_that_exists_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "serve.py"
    file.write_text("mine")
    monkeypatch.setattr("sys.argv", ["scaling", "app", "shop:app", "--write", str(file)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "the file exists" in capsys.readouterr().err
    with pytest.raises(UsageError, match="the file exists"):
        write_program(file, "asgi")
    assert file.read_text() == "mine"


@pytest.mark.parametrize("interface", ["wsgi", "aiohttp"])
def test_an_application_that_it_cannot_serve_is_refused(tmp_path: Path, interface: str) -> None:
    with pytest.raises(UsageError, match="serves"):
        write_program(tmp_path / "serve.py", interface)
    assert not (tmp_path / "serve.py").exists()


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_program(tmp_path / "no" / "serve.py", "asgi")
