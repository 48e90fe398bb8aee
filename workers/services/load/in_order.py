"""A lane that sends the list of requests in its order, with what it saved of earlier answers.

Each pass through the list is another client: it has no values of the one before, and WebSockets of
its own. After a wrong answer the next request is the first of the list.
"""

from collections.abc import Sequence

from workers.services.load.lane import Lane, Open
from workers.services.load.part import message_of
from workers.services.load.request import Request
from workers.services.load.sequence import (
    NothingThereError,
    filled,
    needs_values,
    saved,
    saved_names,
)
from workers.services.load.tally import Window
from workers.services.load.targets import Target


class InOrder(Lane):
    """Sends the next request of the list, whatever the position that it is given."""

    __slots__ = ("_next", "_ready", "_requests", "_target", "_values")

    def __init__(
        self, requests: Sequence[Request], target: Target, open_one: Open, *, keepalive: bool
    ) -> None:
        # Those that need no value are made once; the first never needs one.
        names = saved_names(requests)
        self._ready = [
            None if needs_values(each, names) else message_of(each, target, keepalive=keepalive)
            for each in requests
        ]
        assert self._ready[0]
        super().__init__([self._ready[0]], open_one, keepalive=keepalive)
        self._requests = requests
        self._target = target
        self._next = 0
        self._values: dict[str, str] = {}

    def send(self, position: int, due_ns: int, window: Window) -> None:
        request = self._requests[self._next]
        self._messages = [
            self._ready[self._next]
            or message_of(filled(request, self._values), self._target, keepalive=self._keepalive)
        ]
        super().send(0, due_ns, window)

    def _settle(self, error: str, *, declined: bool = False) -> None:
        request = self._requests[self._next]
        if request.save and self.answer and not (error or declined):
            try:
                found = saved(request.save, self.answer)
                self._values |= found
                self.secrets.update(found.values())
            except NothingThereError as nothing:
                error = f"{request.place}: {nothing}"
        self.answer = None
        self._next = 0 if error or declined else (self._next + 1) % len(self._requests)
        if not self._next:
            self._values = {}
            self.leave_websockets()
        super()._settle(error, declined=declined)
