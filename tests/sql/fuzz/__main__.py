"""`python -m tests.sql.fuzz [COUNT] [SEED]`: try that many random statements."""

from __future__ import annotations

import logging
import sys

from .trial import fuzz


def main() -> int:
    logging.disable(logging.CRITICAL)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    wrong = fuzz(seed, count)
    for problem in wrong:
        print(problem)
    print(f"{count} statements, {len(wrong)} problems")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
