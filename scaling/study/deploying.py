"""The commands that serve an application as N workers, as people deploy it.

They are printed for what is best, and started to see what faults and a long load do.
"""

import shlex
from collections.abc import Mapping

SERVE = "serve.py"  # what --write writes
OF_UVICORN = "--worker-class uvicorn_worker.UvicornWorker"
OF_AIOHTTP = "--worker-class aiohttp.GunicornWebWorker"
GTHREAD = "--worker-class gthread"

# By interface and model: the server, and its arguments. gunicorn calls a factory in each worker,
# with --preload once for all of them.
COMMANDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "asgi": {
        "threads": (SERVE, "serve.py {application} --workers {workers}"),
        "processes": ("uvicorn", "-m uvicorn {application} --workers {workers} --http httptools"),
        "forked": (
            "gunicorn",
            f"-m gunicorn {{called}} --preload --workers {{workers}} {OF_UVICORN}",
        ),
    },
    "aiohttp": {
        "threads": (SERVE, "serve.py {application} --workers {workers}"),
        "processes": ("gunicorn", f"-m gunicorn {{called}} --workers {{workers}} {OF_AIOHTTP}"),
        "forked": (
            "gunicorn",
            f"-m gunicorn {{called}} --preload --workers {{workers}} {OF_AIOHTTP}",
        ),
    },
    "wsgi": {
        "threads": ("gunicorn", f"-m gunicorn {{called}} {GTHREAD} --threads {{workers}}"),
        "processes": ("gunicorn", f"-m gunicorn {{called}} {GTHREAD} --workers {{workers}}"),
    },
}


def arguments(interface: str, model: str, application: str, workers: int, *, factory: bool) -> str:
    """What follows the interpreter, as it is typed; `application` is `package.module:name`."""
    _, text = COMMANDS[interface][model]
    return text.format(
        application=f"{application} --factory" if factory else application,
        called=shlex.quote(f"{application}()") if factory else application,
        workers=workers,
    )
