"""`app.state` is noted when another loop's start replaces a value that can change, only then."""

import threading
from collections.abc import Callable, Iterator
from pathlib import PurePath

import pytest

from workers.workloads.parts import watched


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    found: dict[str, str] = {}
    monkeypatch.setattr(watched, "_noted", found)
    return found


def set_by(state: watched._State, value: object, *, starting: bool = True) -> None:
    """Set a value in another thread."""

    def work() -> None:
        if starting:
            watched._starting.add(threading.get_ident())
        state["value"] = value
        done.wait()  # so that no other thread gets this one's number
        watched._starting.discard(threading.get_ident())

    done = threading.Event()
    thread = threading.Thread(target=work)
    thread.start()
    while state.get("value") is not value:
        done.wait(0.001)
    state_threads.append((thread, done))


state_threads: list[tuple[threading.Thread, threading.Event]] = []


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    for thread, done in state_threads:
        done.set()
        thread.join()
    state_threads.clear()


@pytest.mark.parametrize("make", [object, dict, list])
def test_other_object_of_another_loop_is_noted(
    make: Callable[[], object], noted: dict[str, str]
) -> None:
    state = watched._State({})
    set_by(state, make())
    assert noted == {}
    set_by(state, make())
    assert "app.state.value" in noted["state-overwritten"]


@pytest.mark.parametrize("make", [lambda: "1.0", lambda: (1, "a"), lambda: PurePath("/srv")])
def test_equal_value_is_not(make: Callable[[], object], noted: dict[str, str]) -> None:
    state = watched._State({})
    set_by(state, make())
    set_by(state, make())
    assert noted == {}


def test_what_a_request_sets_is_not(noted: dict[str, str]) -> None:
    state = watched._State({})
    set_by(state, object())
    set_by(state, object(), starting=False)
    assert noted == {}
