"""Pull queries: what a table holds at this moment, or a stream from its beginning."""
