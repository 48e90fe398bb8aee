"""The acceptor deals connections round-robin until its socket is closed, whatever fails before."""

import errno
import os
import socket
from contextlib import ExitStack
from typing import Any

import pytest

from tests.support.waiting import wait_until
from workers.host import inbound
from workers.host.inbound import Inbound


class Listening:
    """A listening socket whose `accept` does what the list says; then it is closed."""

    def __init__(self, *then: socket.socket | int) -> None:
        self._then = list(then)

    def accept(self) -> tuple[socket.socket, str]:
        each = self._then.pop(0) if self._then else errno.EINVAL
        if isinstance(each, int):
            raise OSError(each, os.strerror(each))
        return each, "client"


@pytest.mark.parametrize("fault", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ECONNABORTED])
def test_a_connection_that_cannot_be_accepted_does_not_end_it(fault: int) -> None:
    with ExitStack() as opened:
        ends = [opened.enter_context(each) for each in socket.socketpair()]
        dealt = [opened.enter_context(each) for each in socket.socketpair()]
        inbound._deal(Listening(fault, dealt[0]), [ends[0]])  # type: ignore[arg-type]
        _, found, _, _ = socket.recv_fds(ends[1], 1, 1)
        assert len(found) == 1
        os.close(found[0])


def test_it_ends_with_its_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[None] = []
    deal = inbound._deal

    def dealt(*given: Any) -> None:
        deal(*given)
        ended.append(None)

    monkeypatch.setattr(inbound, "_deal", dealt)
    made = Inbound("acceptor", 2)
    made.start()
    made.close()
    wait_until(lambda: ended == [None])
