"""Xandikos (aiohttp.web): a CalDAV server that keeps its events in a Git repository."""
