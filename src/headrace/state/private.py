"""Private directories and files: only this user can see them, and only this user has made them.

Whoever may write where state is kept can change what an application answers. In a directory that
everybody may write to, such as the one for temporary files, anybody can be there first, with a
directory of his own or a link to one of ours.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from headrace.core.errors import StreamsError

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600


def make_root(path: Path) -> None:
    """Make the directory that the operator has named, if it isn't there. Whose it is, is his
    business, unless it is where anybody could have put it."""
    if not path.exists() or _is_for_everybody(path.parent):
        make_directory(path)


def make_directory(path: Path) -> None:
    """Make a private directory, and those that it is to be in. One that is there must be ours, and
    is made private.

    Raises StreamsError if it is a link, belongs to somebody else, or is one that everybody may
    write to.
    """
    try:
        path.mkdir(DIRECTORY_MODE)
    except FileExistsError:
        check_directory(path)
    except FileNotFoundError:
        make_directory(path.parent)
        make_directory(path)


def check_directory(path: Path) -> None:
    """Raises StreamsError if a directory is a link, belongs to somebody else, or is one that
    everybody may write to."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise StreamsError(
            f"State directory {path} is a symbolic link, and those are not followed. Set state.dir "
            "to the directory that it leads to, or remove it."
        )
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(f"{path} is not a directory")
    if found.st_uid != os.geteuid():
        raise StreamsError(
            f"State directory {path} belongs to user {found.st_uid}, and this process runs as "
            f"user {os.geteuid()}. Run the application as its owner, give it to this user with "
            "chown, or set another state.dir."
        )
    if found.st_mode & stat.S_IWOTH:
        raise StreamsError(
            f"State directory {path} may be written to by everybody, so that what is in it may be "
            "anybody's. Remove it, and it is restored from Kafka; or set another state.dir."
        )
    if stat.S_IMODE(found.st_mode) & 0o077:
        path.chmod(DIRECTORY_MODE)


def open_file(path: Path, flags: int) -> int:
    """Open a private file, which is made if it isn't there. Links are not followed."""
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)


def write_file(path: Path, data: bytes) -> None:
    """Write a private file anew."""
    file = open_file(path, os.O_WRONLY | os.O_TRUNC)
    with os.fdopen(file, "wb") as output:
        output.write(data)


def _is_for_everybody(path: Path) -> bool:
    return bool(path.stat().st_mode & stat.S_IWOTH)
