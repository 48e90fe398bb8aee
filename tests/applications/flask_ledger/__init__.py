"""A ledger: Flask (WSGI) with a blueprint, a hook before each request, JSON and templates."""
