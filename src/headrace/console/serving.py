"""Answers a browser that asks for a file of the console."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from headrace.console.files import HEADERS, File


def file_response(request: Request, file: File) -> Response:
    headers = {**HEADERS, "ETag": file.etag}
    if has_tag(request, file.etag):
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers={**headers, "Content-Type": file.media_type})


def has_tag(request: Request, tag: str) -> bool:
    """Whether the client has the content with this tag already."""
    if request.method not in ("GET", "HEAD"):
        return False
    known = request.headers.get("if-none-match", "").split(",")
    return any(each.strip().removeprefix("W/") in (tag, "*") for each in known)
