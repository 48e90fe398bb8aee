"""A package index on loopback that notes which names it is asked for."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support.wheels import wheel


class Index:
    """The index in a folder; `asked` are the names that somebody wanted to know about."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.asked: set[str] = set()
        self.url = ""

    def add(
        self,
        name: str,
        version: str = "1.0",
        requires: Sequence[str] = (),
        tag: str = "py3-none-any",
    ) -> Path:
        """Publish a wheel without compiled code, whatever its tag says; return it."""
        folder = self._folder / "simple" / name
        folder.mkdir(parents=True, exist_ok=True)
        files = {f"{name}.py": f"VERSION = {version!r}\n"}
        made = wheel(folder, name, files, tag, version=version, requires=requires)
        links = [f'<a href="{each.name}">{each.name}</a>' for each in folder.glob("*.whl")]
        (folder / "index.html").write_text("".join(links))
        return made


class Handler(SimpleHTTPRequestHandler):
    """Serves the folder, and notes names."""

    def __init__(self, index: Index, *arguments: object, **options: object) -> None:
        self._index = index
        super().__init__(*arguments, **options)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self._index.asked.add(self.path.split("/")[2])
        super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(folder: Path) -> Iterator[Index]:
    """An index in a folder that is empty yet."""
    index = Index(folder)
    handler = partial(Handler, index, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        index.url = f"http://127.0.0.1:{server.server_port}/simple"
        try:
            yield index
        finally:
            server.shutdown()
            thread.join()
