from __future__ import annotations

import re

from headrace.console.files import HEADERS, PAGE, SQL_PAGE, files

PAGES = (PAGE, SQL_PAGE)


def test_every_file_that_is_named_is_there_and_every_file_is_named() -> None:
    texts = {name: file.content.decode() for name, file in files().items()}
    named = {*PAGES}
    for page in PAGES:
        named.update(re.findall(r'(?:href|src)="/console/([^"]+)"', texts[page]))
    for name, text in texts.items():
        if name.endswith(".js"):
            named.update(re.findall(r'from "\./([^"]+)";', text))
    assert named == texts.keys()


def test_they_fetch_nothing_from_elsewhere_and_parse_no_markup() -> None:
    for name, file in files().items():
        text = file.content.decode().replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", text), (
            name
        )
        assert "style=" not in text, name
    for page in PAGES:
        text = files()[page].content.decode()
        assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=", text)


def test_types_and_tags() -> None:
    assert files()[PAGE].media_type == "text/html; charset=utf-8"
    assert files()["main.js"].media_type.startswith("text/javascript")
    assert len({file.etag for file in files().values()}) == len(files())


def test_they_are_small() -> None:
    assert sum(len(file.content) for file in files().values()) < 110_000


def test_the_policy_lets_only_own_files_run() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
