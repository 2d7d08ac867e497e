"""How much is done at a time."""

MAX_BODY = 64 * 1024
MAX_RESULTS = 1000
USUAL_RESULTS = 100
MAX_SCANS = 4
