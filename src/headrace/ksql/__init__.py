"""The ksqlDB server: statements, persistent queries, pull and push queries, over Kafka and Spark or
in this process.

`Service` (service.py) is what a face of the server works with: HTTP, the command line, tests. It
takes requests (requests.py), gives entities (entities.py) and results (results.py), and raises
KsqlError (errors.py). All of it blocks, and may be called from any thread.
"""
