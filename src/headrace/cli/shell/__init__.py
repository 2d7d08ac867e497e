"""`headrace sql`: the command line of a ksqlDB server.

A `Shell` (shell.py) takes text, cuts it into statements (text.py), answers its own commands
(commands.py), and has the server answer the others (client.py). Answers are shown as tables
(entities.py, rows.py) or JSON.
"""
