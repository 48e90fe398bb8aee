"""The client of the check ends, with the reason, where nobody listens any more."""

import socket

import pytest

from scaling.run.app_checker import Checker
from scaling.run.load import LoadError


def test_a_refused_connection_is_a_missing_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    checker = Checker([{"path": "/"}], together_s=0.1)
    with pytest.raises(LoadError, match="a request was not answered"):
        checker.connect([f"http://127.0.0.1:{port}"], [])
    ((answer,),) = checker.answers
    assert "no answer: ConnectionRefusedError" in answer.failure
