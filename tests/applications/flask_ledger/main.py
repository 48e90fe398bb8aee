"""The application: `create_app` makes one. Threads share it, so what it changes has a lock."""

import threading
from dataclasses import asdict, dataclass, field

from flask import (
    Blueprint,
    Flask,
    Response,
    abort,
    current_app,
    g,
    jsonify,
    render_template,
    request,
)

OWNERS = {"ada": 1, "bob": 2}
ENTRIES = 40
FEE_PER_MILLE = 2


@dataclass
class Entry:
    """A change of an account."""

    text: str
    cents: int


@dataclass
class Account:
    """An account of one owner."""

    number: int
    owner: str
    entries: list[Entry] = field(default_factory=list)


class Ledger:
    """All accounts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._transfers = 0
        self._accounts = {
            number: Account(
                number, owner, [Entry(f"no. {k} & more", k * 731 % 9_000) for k in range(ENTRIES)]
            )
            for owner, number in OWNERS.items()
        }

    def account(self, number: int) -> Account:
        """An account that the user of this request may see."""
        found = self._accounts.get(number)
        if found is None:
            abort(404, f"there is no account {number}")
        if found.owner != g.user:
            abort(403, f"account {number} is not of {g.user}")
        return found

    def transfer(self, source: int, target: int, cents: int) -> dict[str, int]:
        """Note a transfer; its number, and what it costs."""
        self.account(source)
        if target not in self._accounts or cents <= 0:
            abort(422, "expected another account and an amount above 0")
        with self._lock:
            self._transfers += 1
            return {"number": self._transfers, "fee_cents": cents * FEE_PER_MILLE // 1_000}


pages = Blueprint("pages", __name__)


def ledger() -> Ledger:
    """The ledger of the application that answers."""
    found: Ledger = current_app.extensions["ledger"]
    return found


@pages.before_request
def authenticate() -> None:
    """Find the user of this request."""
    user = request.headers.get("authorization", "").removeprefix("Bearer ")
    if user not in OWNERS:
        abort(401, "who are you?")
    g.user = user


@pages.get("/accounts/<int:number>")
def account(number: int) -> Response:
    """An account, with what is on it."""
    found = ledger().account(number)
    balance = sum(each.cents for each in found.entries)
    return jsonify(asdict(found) | {"balance_cents": balance})


@pages.get("/accounts/<int:number>/statement")
def statement(number: int) -> str:
    """An account as a page."""
    return render_template("statement.html", account=ledger().account(number), user=g.user)


@pages.post("/transfers")
def transfer() -> tuple[Response, int]:
    """Transfer money from an account of this user."""
    asked = request.get_json()
    done = ledger().transfer(asked["from"], asked["to"], asked["cents"])
    return jsonify(done | {"user": g.user}), 201


def create_app() -> Flask:
    """Make an application."""
    app = Flask(__name__)
    app.extensions["ledger"] = Ledger()
    app.register_blueprint(pages)
    return app


app = create_app()
