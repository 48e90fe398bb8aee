"""Radicale (WSGI): a CalDAV server that keeps each event in a file."""
