"""What is kept in the cache was made once and whole, whoever was interrupted or came second."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from scaling.base.errors import ScalingError
from scaling.builds.cache import make_whole
from tests.support.fake_builds import say_nothing


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "thing"


def left_in(folder: Path) -> list[str]:
    """Everything but locks, which stay."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def filled(with_text: str) -> Callable[[Path], Path]:
    def fill(temporary: Path) -> Path:
        made = temporary / "made"
        made.mkdir()
        (made / "text").write_text(with_text)
        return made

    return fill


def test_what_is_there_is_not_made_again(destination: Path) -> None:
    make_whole(destination, filled("first"), say=say_nothing)
    make_whole(destination, filled("second"), say=say_nothing)
    assert (destination / "text").read_text() == "first"
    assert left_in(destination.parent) == ["thing"]


@pytest.mark.parametrize("fault", [ScalingError, KeyboardInterrupt])
def test_what_was_interrupted_leaves_nothing(destination: Path, fault: type[BaseException]) -> None:
    def fill(temporary: Path) -> Path:
        filled("half")(temporary)
        raise fault

    with pytest.raises(fault):
        make_whole(destination, fill, say=say_nothing)
    assert left_in(destination.parent) == []
    make_whole(destination, filled("whole"), say=say_nothing)
    assert (destination / "text").read_text() == "whole"


def test_what_is_whole_no_more_is_made_again(destination: Path) -> None:
    make_whole(destination, filled("first"), say=say_nothing)
    (destination / "text").unlink()

    def has_text(folder: Path) -> bool:
        return (folder / "text").exists()

    for text in ("second", "third"):
        make_whole(destination, filled(text), say=say_nothing, whole=has_text)
    assert (destination / "text").read_text() == "second"


def test_who_comes_second_waits_and_finds_it_made(destination: Path) -> None:
    began, go_on, waiting = threading.Event(), threading.Event(), threading.Event()
    said: list[str] = []

    def slowly(temporary: Path) -> Path:
        began.set()
        go_on.wait()
        return filled("first")(temporary)

    def say(line: str) -> None:
        said.append(line)
        waiting.set()

    first = threading.Thread(target=make_whole, args=(destination, slowly),
                             kwargs={"say": say_nothing})  # fmt: skip
    second = threading.Thread(target=make_whole, args=(destination, filled("second")),
                              kwargs={"say": say})  # fmt: skip
    first.start()
    began.wait()
    second.start()
    waiting.wait()
    go_on.set()
    first.join()
    second.join()
    assert (destination / "text").read_text() == "first"
    assert said == ["another process is making thing: waiting for it"]
