"""A running application over HTTP: what it does, what its stores hold, and a console."""
