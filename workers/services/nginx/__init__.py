"""nginx as a reverse proxy in front of the servers of one run.

To try it: `python -m workers.services.nginx http://127.0.0.1:8000`.
"""
