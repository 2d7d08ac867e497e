"""The OpenAPI document, made of the table of routes."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from headrace.server.answers import Problem
from headrace.server.problems import MEDIA_TYPE, TITLES
from headrace.server.routes import Route
from headrace.server.schema import Schemas

_OF_ALL = (400, 403, 406, 413, 415, 429, 500)
"""What every request may be answered with."""
_RETRY_AFTER = {
    "description": "Seconds to wait.",
    "schema": {"type": "integer", "minimum": 1},
    "required": True,
}


def document(routes: Iterable[Route], *, has_token: bool) -> dict[str, Any]:
    schemas = Schemas()
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(
            route, schemas, has_token=has_token
        )
    components: dict[str, Any] = {"schemas": schemas.named}
    if has_token:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headrace",
            "version": version("headrace"),
            "description": "A running application: what it does, and what its stores hold.",
        },
        "paths": paths,
        "components": components,
    }


def _operation(route: Route, schemas: Schemas, *, has_token: bool) -> dict[str, Any]:
    needs_token = has_token and not route.is_open
    statuses = {*_OF_ALL, *route.problems, *((401,) if needs_token else ())}
    answer = {"application/json": {"schema": schemas.of(route.answer)}}
    responses: dict[str, Any] = {
        str(status): {"description": "The answer.", "content": answer}
        for status in (200, *route.also_answers)
    }
    if route.method == "GET":
        responses["304"] = {"description": "It is what If-None-Match says."}
    problem = {MEDIA_TYPE: {"schema": schemas.of(Problem)}}
    for status in sorted(statuses):
        form: dict[str, Any] = {"description": TITLES[status], "content": problem}
        if status in (429, 503):
            form["headers"] = {"Retry-After": _RETRY_AFTER}
        responses[str(status)] = form
    return {
        "summary": route.summary,
        "operationId": _operation_id(route),
        "parameters": [
            {
                "name": parameter.name,
                "in": parameter.where,
                "required": parameter.required or parameter.where == "path",
                "description": parameter.doc,
                "schema": parameter.schema(),
            }
            for parameter in route.parameters
        ],
        "responses": responses,
        **({"security": [{"token": []}]} if needs_token else {}),
    }


def _operation_id(route: Route) -> str:
    words = [word.strip("{}").replace("-", "_") for word in route.path.split("/")[2:]]
    return "_".join([route.method.lower(), *words])
