"""pgbouncer in front of PostgreSQL: many connections of clients share few of the database's.

To try it: `SCALING_POSTGRES=URL python -m workers.services.pgbouncer`.
"""
