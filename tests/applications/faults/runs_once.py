"""What it starts can be started once, as a session manager: one object serves one loop."""

from .asgi import Application, Message, Receive, Send, no_lifespan, respond


class Manager:
    """Of sessions, of which each process has one."""

    def __init__(self) -> None:
        self.has_started = False

    def start(self) -> None:
        """Start it, once."""
        if self.has_started:
            raise RuntimeError("Manager.start() can only be called once")
        self.has_started = True


manager = Manager()


def create_around() -> Application:
    """Only the application is made here, around what the module has made."""
    return with_manager(manager)


def with_manager(own: Manager) -> Application:
    """An application that starts this manager."""

    async def made(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            own.start()
            await no_lifespan(receive, send)
        else:
            await respond(send, {"tea": 3})

    return made
