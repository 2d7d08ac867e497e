"""The console: one page, and what it is made of. There is nothing to build and nothing to fetch
from elsewhere."""
