"""Push queries: results as they come, for as long as somebody listens."""
