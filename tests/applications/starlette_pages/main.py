"""The application: `create_app` makes one, with its own templates and products."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.templating import Jinja2Templates

from .middleware import Language, request_id

TEMPLATES = Path(__file__).parent / "templates"
PRODUCTS = 200
ON_A_PAGE = 24
WORDS = {
    "en": {"title": "Lamps and chairs", "price": "Price", "basket": "in your basket"},
    "de": {"title": "Lampen und Stühle", "price": "Preis", "basket": "im Warenkorb"},
}


@dataclass(frozen=True)
class Product:
    """What is sold."""

    number: int
    name: str
    price_cents: int
    text: str


def price(cents: int) -> str:
    """A price as people read it."""
    return f"{cents // 100}.{cents % 100:02}"


class Pages:
    """The pages of one application."""

    def __init__(self) -> None:
        environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
        environment.filters["price"] = price
        self._templates = Jinja2Templates(env=environment)
        self._products = {
            number: Product(
                number,
                f"{('Lamp', 'Chair')[number % 2]} <{number}>",
                1_900 + number * 731 % 40_000,
                "Made by hand & sent by post. " * (1 + number % 5),
            )
            for number in range(1, PRODUCTS + 1)
        }

    def _page(self, request: Request, name: str, status: int = 200, **values: object) -> Response:
        context = {
            "words": WORDS[request.scope["language"]],
            "language": request.scope["language"],
            "basket": request.session.get("basket", []),
            **values,
        }
        return self._templates.TemplateResponse(request, name, context, status_code=status)

    async def home(self, request: Request) -> Response:
        """The first products."""
        return self._page(request, "list.html", products=list(self._products.values())[:ON_A_PAGE])

    async def listed(self, request: Request) -> Response:
        """A page of products."""
        page = max(1, int(request.query_params.get("page", "1")))
        first = (page - 1) * ON_A_PAGE
        found = list(self._products.values())[first : first + ON_A_PAGE]
        return self._page(request, "list.html", products=found)

    async def search(self, request: Request) -> Response:
        """Products by a word of their name."""
        word = request.query_params.get("q", "").lower()
        found = [each for each in self._products.values() if word in each.name.lower()]
        return self._page(request, "list.html", products=found[:ON_A_PAGE])

    async def product(self, request: Request) -> Response:
        """One product."""
        return self._page(request, "product.html", product=self._asked(request))

    async def buy(self, request: Request) -> Response:
        """Put a product into the basket."""
        number = self._asked(request).number
        request.session["basket"] = [*request.session.get("basket", []), number]
        return RedirectResponse(f"/products/{number}", status_code=303)

    async def missing(self, request: Request, error: Exception) -> Response:
        """The page for what is not there."""
        assert isinstance(error, HTTPException)
        if "session" not in request.scope or "language" not in request.scope:
            return Response(error.detail, status_code=error.status_code)
        return self._page(request, "error.html", error.status_code, detail=error.detail)

    def _asked(self, request: Request) -> Product:
        number = request.path_params["number"]
        found = self._products.get(int(number)) if number.isdecimal() else None
        if found is None:
            raise HTTPException(404, f"there is no product {number}")
        return found


def create_app() -> Starlette:
    """Make an application."""
    pages = Pages()
    get: list[tuple[str, Callable[..., object]]] = [
        ("/", pages.home),
        ("/products", pages.listed),
        ("/products/{number}", pages.product),
        ("/search", pages.search),
    ]
    return Starlette(
        routes=[
            *(Route(path, page) for path, page in get),
            Route("/basket/{number}", pages.buy, methods=["POST"]),
        ],
        middleware=[
            Middleware(BaseHTTPMiddleware, dispatch=request_id),
            Middleware(GZipMiddleware, minimum_size=1_000),
            Middleware(SessionMiddleware, secret_key="for tests"),
            Middleware(Language),
        ],
        exception_handlers={HTTPException: pages.missing},
    )


app = create_app()
