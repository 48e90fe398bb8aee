"""A shop's pages: Starlette with Jinja templates, sessions and middleware."""
