"""The application: `create_app` makes one; each has its items from its own lifespan."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, TypedDict

from fastapi import Depends, FastAPI, HTTPException, Query, Request

from .models import Category, Item, Order, Page, PricedLine, Receipt

ITEMS = 500
FREE_FROM_CENTS = 5_000
SHIPPING_CENTS = 490
COUPONS = {"SPRING": 10, "FRIEND": 15}  # per cent


class State(TypedDict):
    """What each application has."""

    items: dict[int, Item]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[State]:
    """Make the items, always the same."""
    kinds = list(Category)
    items = {
        number: Item(
            id=number,
            name=f"{kinds[number % len(kinds)].title()} no. {number}",
            category=kinds[number % len(kinds)],
            price_cents=150 + number * 37 % 2_000,
            tags=[f"tag-{number % 7}", f"tag-{number % 11}"],
            rating=number % 51 / 10,
        )
        for number in range(1, ITEMS + 1)
    }
    yield {"items": items}


async def all_items(request: Request) -> dict[int, Item]:
    """The items of this application."""
    found: dict[int, Item] = request.state.items
    return found


type Items = Annotated[dict[int, Item], Depends(all_items)]


def create_app() -> FastAPI:
    """Make an application."""
    app = FastAPI(title="Shop", lifespan=lifespan)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/items")
    async def listed(
        items: Items,
        category: Category | None = None,
        offset: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
    ) -> Page:
        found = [each for each in items.values() if category in (None, each.category)]
        return Page(items=found[offset : offset + limit], total=len(found), offset=offset)

    @app.get("/items/{number}")
    async def item(number: int, items: Items) -> Item:
        if number not in items:
            raise HTTPException(404, f"there is no item {number}")
        return items[number]

    @app.post("/orders", status_code=201)
    async def order(asked: Order, items: Items) -> Receipt:
        missing = [each.item_id for each in asked.lines if each.item_id not in items]
        if missing:
            raise HTTPException(409, f"there is no item {missing[0]}")
        lines = [
            PricedLine(
                item_id=each.item_id,
                quantity=each.quantity,
                name=items[each.item_id].name,
                price_cents=items[each.item_id].price_cents,
            )
            for each in asked.lines
        ]
        total = sum(each.price_cents * each.quantity for each in lines)
        discount = total * COUPONS.get(asked.coupon or "", 0) // 100
        shipping = 0 if total - discount >= FREE_FROM_CENTS else SHIPPING_CENTS
        return Receipt(
            customer=asked.customer,
            address=asked.address,
            lines=lines,
            discount_cents=discount,
            shipping_cents=shipping,
            total_cents=total - discount + shipping,
        )

    return app


app = create_app()
