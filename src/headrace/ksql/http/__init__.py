"""The server over HTTP: ksqlDB's REST API, by HTTP/1.1 and HTTP/2 on one port.

`HttpServer` (server.py) answers for a `Service`. A request passes the gate (gate.py), finds its
route (routes.py), and is read (bodies.py); rows go out in one of four forms (forms.py) as fast as
the client reads them (streams.py).
"""
