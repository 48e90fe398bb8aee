"""A FastAPI application on uvicorn, with a Pydantic model in and out, as people ship it."""

from typing import Any

import fastapi
import pydantic
from pydantic import BaseModel, Field

from workers import Worker
from workers.workloads.parts.servers import BaseServer
from workers.workloads.parts.servers.on_uvicorn import OnUvicorn
from workers.workloads.parts.work import PerRequest

PATH = "/orders"


class Line(BaseModel):
    """One line of an order."""

    article: str = Field(min_length=1)
    quantity: int = Field(ge=1)
    price: float = Field(ge=0)


class Order(BaseModel):
    """The body of a request."""

    customer: str
    lines: list[Line]
    note: str | None = None


class Receipt(BaseModel):
    """The body of an answer; `text` makes it as long as it was asked to be."""

    customer: str
    articles: int
    total: float
    text: str = ""


ORDER = Order(
    customer="Ada",
    lines=[
        Line(article="lamp", quantity=2, price=19.5),
        Line(article="desk", quantity=1, price=249.0),
    ],
)


def receipt(order: Order, text: str) -> Receipt:
    """The receipt for an order."""
    return Receipt(
        customer=order.customer,
        articles=sum(line.quantity for line in order.lines),
        total=sum(line.quantity * line.price for line in order.lines),
        text=text,
    )


def requests(_response_bytes: int) -> list[dict[str, Any]]:
    """One order."""
    sent = {"content-type": "application/json"}
    body = ORDER.model_dump_json(exclude_none=True)
    return [{"method": "POST", "path": PATH, "headers": sent, "body": body, "status": 200}]


def make(worker: Worker, per_request: PerRequest, response_bytes: int) -> BaseServer:
    """Make the server of one worker."""
    return OnUvicorn(
        worker,
        lambda: application(per_request, response_bytes),
        framework=f"FastAPI {fastapi.__version__}, Pydantic {pydantic.VERSION}",
    )


def application(per_request: PerRequest, response_bytes: int) -> fastapi.FastAPI:
    """Make the application. Answers have `response_bytes`, or what they need without the text."""
    shortest = len(receipt(ORDER, "").model_dump_json())
    text = "x" * max(0, response_bytes - shortest)
    made = fastapi.FastAPI()

    @made.post(PATH)
    async def take(order: Order) -> Receipt:
        await per_request.done()
        return receipt(order, text)

    return made


# FastAPI imports more when it makes its first application: after a fork, that would not be shared.
application(PerRequest(), 0)
