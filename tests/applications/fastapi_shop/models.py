"""What the shop's clients send and get."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, Field, computed_field, model_validator

LINES_MOST = 50


class Category(StrEnum):
    """What is sold."""

    tea = "tea"
    coffee = "coffee"
    cup = "cup"


class Item(BaseModel):
    """Something that can be ordered."""

    id: int
    name: str
    category: Category
    price_cents: Annotated[int, Field(ge=0)]
    tags: list[str] = []
    rating: Annotated[float, Field(ge=0, le=5)] | None = None


class Page(BaseModel):
    """Some of the items, and how many there are."""

    items: list[Item]
    total: int
    offset: int


class Line(BaseModel):
    """One item of an order."""

    item_id: int
    quantity: Annotated[int, Field(ge=1, le=100)]


class Address(BaseModel):
    """Where to send it."""

    street: Annotated[str, Field(min_length=1)]
    city: Annotated[str, Field(min_length=1)]
    postcode: Annotated[str, Field(pattern=r"^[0-9]{4,5}$")]
    country: Annotated[str, Field(pattern=r"^[A-Z]{2}$")]


class Order(BaseModel):
    """What a customer orders."""

    customer: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")]
    address: Address
    lines: Annotated[list[Line], Field(min_length=1, max_length=LINES_MOST)]
    coupon: str | None = None

    @model_validator(mode="after")
    def each_item_once(self) -> Self:
        """An item has one line."""
        if len({each.item_id for each in self.lines}) != len(self.lines):
            raise ValueError("an item is there more than once")
        return self


class PricedLine(Line):
    """A line with what it costs."""

    name: str
    price_cents: int

    @computed_field
    def total_cents(self) -> int:
        """Price times quantity."""
        return self.price_cents * self.quantity


class Receipt(BaseModel):
    """An order with what it costs."""

    customer: str
    address: Address
    lines: list[PricedLine]
    discount_cents: int
    shipping_cents: int
    total_cents: int
