"""Writes the program that serves an application as N loops in threads."""

from collections.abc import Mapping
from pathlib import Path

from scaling.base.errors import UsageError
from scaling.base.files import refusal

PROGRAMS: Mapping[str, Path] = {
    "asgi": Path(__file__).with_name("serve.py"),
    "aiohttp": Path(__file__).with_name("serve_aiohttp.py"),
}
WHY_NOT = {"wsgi": "gunicorn --worker-class gthread --threads N serves WSGI in N threads"}


def require_new(file: Path) -> None:
    """Refuse a file that exists, before anything is made.

    Raises:
        UsageError: it exists, or its folder does not.
    """
    if not file.parent.is_dir():
        raise UsageError(f"--write {file}: there is no folder {file.parent}")
    if file.exists():
        raise UsageError(f"--write {file}: the file exists; give another name")


def write_program(file: Path, interface: str) -> None:
    """Write the one for that interface to a new file; what is there is never replaced.

    Raises:
        UsageError: the file exists or cannot be written, or WSGI is served without it.
    """
    if interface in WHY_NOT:
        raise UsageError(f"--write {file}: no program is needed: {WHY_NOT[interface]}")
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(PROGRAMS[interface].read_text(encoding="utf-8"))
    except FileExistsError:
        raise UsageError(f"--write {file}: the file exists; give another name") from None
    except OSError as error:
        raise UsageError(f"--write {file}: cannot be written ({refusal(error)})") from None
