"""Writes the program that serves an application as N loops in threads."""

from pathlib import Path

from scaling.base.errors import UsageError
from scaling.base.files import refusal

TEMPLATE = Path(__file__).with_name("serve.py")
WHY_NOT = {
    "wsgi": "gunicorn --worker-class gthread serves WSGI in threads",
    "aiohttp": "it serves ASGI; each loop of aiohttp needs an AppRunner of its own",
}


def require_new(file: Path) -> None:
    """Refuse a file that exists, before anything is made.

    Raises:
        UsageError: it exists.
    """
    if file.exists():
        raise UsageError(f"--write {file}: the file exists; give another name")


def write_program(file: Path, interface: str) -> None:
    """Write it to a new file; what is there is never replaced.

    Raises:
        UsageError: the file exists or cannot be written, or the application is not ASGI.
    """
    if interface in WHY_NOT:
        raise UsageError(f"--write {file}: {WHY_NOT[interface]}")
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(TEMPLATE.read_text(encoding="utf-8"))
    except FileExistsError:
        raise UsageError(f"--write {file}: the file exists; give another name") from None
    except OSError as error:
        raise UsageError(f"--write {file}: cannot be written ({refusal(error)})") from None
