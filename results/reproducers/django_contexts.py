"""Django on ASGI, called without a server: threads that end with each request, or are kept.

    python3.14t django_contexts.py ended    as Django does it
    python3.14t django_contexts.py kept     contexts take their executor from a list, and give it back

It needs django. Four requests at a time ask for a page that a synchronous view makes.
"""

import asyncio
import resource
import sys
from concurrent.futures import ThreadPoolExecutor

from asgiref.sync import ThreadSensitiveContext
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.handlers import asgi
from django.http import HttpResponse
from django.template import Context, Engine
from django.urls import path

REQUESTS, AT_A_TIME = 1_000, 4
ROWS = Engine().from_string("{% for row in rows %}<li>{{ row.name }}: {{ row.price }}</li>{% endfor %}")


def listed(request):
    rows = [{"name": f"item {number}", "price": number / 4} for number in range(50)]
    return HttpResponse(ROWS.render(Context({"rows": rows})))


urlpatterns = [path("", listed)]
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="x")
application = get_asgi_application()
free = []


class Kept:
    """A context with an executor that the next request takes over."""

    async def __aenter__(self):
        self.executor = free.pop() if free else ThreadPoolExecutor(1)
        self.context = ThreadSensitiveContext(executor=self.executor)
        await self.context.__aenter__()

    async def __aexit__(self, *error):
        await self.context.__aexit__(*error)
        free.append(self.executor)


async def request():
    scope = {"type": "http", "http_version": "1.1", "method": "GET", "path": "/", "query_string": b""}
    scope |= {"scheme": "http", "headers": [(b"host", b"shop")]}
    statuses, over = [], asyncio.Event()
    body = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive():
        if body:
            return body.pop()
        await over.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        statuses.append(message.get("status", 200))
        if message["type"] == "http.response.body" and not message.get("more_body"):
            over.set()

    await application(scope, receive, send)
    assert set(statuses) == {200}


async def requests():
    for _ in range(REQUESTS // AT_A_TIME):
        await asyncio.gather(*(request() for _ in range(AT_A_TIME)))


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if sys.argv[1] == "kept":
    asgi.ThreadSensitiveContext = Kept
asyncio.run(requests())
before_s = cpu_s()
asyncio.run(requests())
print(f"cpu_us_a_request {1e6 * (cpu_s() - before_s) / REQUESTS:.0f}", flush=True)
sys.exit()
