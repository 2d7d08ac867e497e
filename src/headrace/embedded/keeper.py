"""Runs a program, and ends it when whoever asked for it is gone. A script of its own.

    python keeper.py DIRECTORY PROGRAM ARGUMENTS…

Standard input is the bond: each line is the name of a signal for the program; its end means that
the other side died, even by kill -9, and so the program is ended and DIRECTORY (if not empty)
removed. It works from any thread and on any Unix, unlike a death signal, which Linux sends when
the *thread* that started a process ends.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading

_GRACE_SECONDS = 10


def main() -> None:
    directory, *command = sys.argv[1:]
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def follow() -> None:
        code = program.wait()
        if not orphaned.is_set():
            os._exit(code if code >= 0 else 128 - code)

    orphaned = threading.Event()
    threading.Thread(target=follow, daemon=True).start()
    for line in sys.stdin:
        program.send_signal(signal.Signals[line.strip()])
    orphaned.set()
    program.send_signal(signal.SIGTERM)
    program.send_signal(signal.SIGCONT)
    try:
        program.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()
    if directory:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
