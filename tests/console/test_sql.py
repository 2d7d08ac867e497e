"""The console of a ksqlDB server in a real browser. Queries run in this process."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from headrace.ksql.http.access import Access
from headrace.ksql.http.server import HttpServer
from tests.console.browser import expected_errors
from tests.ksql.servers import CLICKS, COUNTS, TestServer

MARKUP = "<img src=x onerror=\"window.ran='yes'\"><script>window.ran='yes'</script>"


class Console:
    """A server with a console."""

    def __init__(self, access: Access | None = None) -> None:
        self.ksql = TestServer()
        self.http = HttpServer(self.ksql.server, port=0, access=access)
        self.url = f"{self.http.address}/console"

    def close(self) -> None:
        self.http.close()
        self.ksql.close()


@pytest.fixture
def console() -> Iterator[Console]:
    console = Console()
    yield console
    console.close()


def run(page: Page, sql: str) -> None:
    page.get_by_role("textbox", name="SQL").fill(sql)
    page.keyboard.press("Control+Enter")


def cells(page: Page) -> list[str]:
    return page.locator(".results tbody td").all_inner_texts()


def eventually(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def pushes(console: Console) -> list[str]:
    listed = console.ksql.run("LIST QUERIES;")[0]["queries"]
    return [each["id"] for each in listed if each["queryType"] == "PUSH"]


def test_from_nothing_to_a_table(console: Console, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(console.url)
    expect(page.locator("#state")).to_have_text("RUNNING")
    expect(page.locator("#facts")).to_contain_text("service default_")
    lists = page.get_by_role("navigation")
    expect(lists).to_have_text("Streamsnone yetTablesnone yetQueriesnone yet")
    run(page, f"-- a semicolon; in a comment\n{CLICKS}\n{COUNTS}")
    results = page.locator(".results .card")
    expect(results).to_have_count(2)
    expect(results.first).to_contain_text("Stream created")
    expect(results.last).to_contain_text("Created query with ID CTAS_COUNTS_1")
    for name in ("CLICKS", "COUNTS", "CTAS_COUNTS_1"):
        expect(lists.get_by_role("button", name=re.compile(f"^{name}"))).to_be_visible()
    run(page, "INSERT INTO clicks VALUES ('it''s; anna', 7);")
    expect(results).to_contain_text("Done.")
    console.ksql.settle()
    run(page, "SELECT * FROM counts;")
    expect(page.get_by_role("status").last).to_have_text("Ended: 1 row.")
    assert cells(page) == ["it's; anna", "1"]
    lists.get_by_role("button", name=re.compile("^COUNTS")).click()
    expect(results).to_contain_text("TABLE")
    assert cells(page) == ["NAME", "STRING", "KEY", "N", "BIGINT", ""]
    assert {url.split("/")[2] for url in asked} == {console.url.split("/")[2]}


def test_rows_come_until_the_query_is_stopped(console: Console, page: Page) -> None:
    console.ksql.run(CLICKS)
    page.goto(console.url)
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()
    run(page, "SELECT name, page FROM clicks EMIT CHANGES;")
    note = page.get_by_role("status").last
    expect(note).to_contain_text("Running: no rows so far.")
    console.ksql.run("INSERT INTO clicks VALUES ('anna', 7);")
    expect(note).to_contain_text("Running: 1 row so far.")
    console.ksql.run("INSERT INTO clicks VALUES ('otto', NULL);")
    expect(note).to_contain_text("Running: 2 rows so far.")
    assert sorted(cells(page)) == ["7", "anna", "null", "otto"]
    assert len(pushes(console)) == 1
    page.get_by_role("button", name="Stop").click()
    expect(note).to_have_text("Stopped: 2 rows.")
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()
    eventually(lambda: not pushes(console))
    # Another one ends the one before it.
    run(page, "SELECT name FROM clicks EMIT CHANGES;")
    expect(note).to_contain_text("Running")
    run(page, "SELECT page FROM clicks EMIT CHANGES LIMIT 2;")
    expect(page.get_by_role("status").last).to_have_text("Ended: 2 rows.")
    eventually(lambda: not pushes(console))


def test_only_the_last_rows_are_kept(console: Console, page: Page) -> None:
    console.ksql.run(CLICKS)
    console.ksql.run("".join(f"INSERT INTO clicks VALUES ('a', {i});" for i in range(700)))
    page.goto(console.url)
    run(page, "SELECT page FROM clicks EMIT CHANGES LIMIT 700;")
    note = page.get_by_role("status").last
    expect(note).to_have_text("Ended: 700 rows. The last 500 are shown.")
    assert cells(page) == [str(number) for number in range(200, 700)]


def test_numbers_are_shown_as_they_are(console: Console, page: Page) -> None:
    console.ksql.run(
        "CREATE STREAM n (a BIGINT, b DECIMAL(5, 2), c ARRAY<BIGINT>, d STRING) "
        "WITH (kafka_topic='n', partitions=1, value_format='JSON');"
        "INSERT INTO n VALUES (9007199254740993, 12.50, ARRAY[9007199254740993], '');"
    )
    page.goto(console.url)
    run(page, "SELECT * FROM n;")
    expect(page.locator(".results tbody tr")).to_have_count(1)
    assert cells(page) == ["9007199254740993", "12.50", "[9007199254740993]", ""]


def test_topics_are_printed(console: Console, page: Page) -> None:
    console.ksql.run(CLICKS + "INSERT INTO clicks VALUES ('anna', 7);")
    page.goto(console.url)
    run(page, "PRINT 'clicks' FROM BEGINNING LIMIT 1;")
    expect(page.get_by_role("status").last).to_have_text("Ended: 1 row.")
    assert re.search(r"key: anna, value: \{.PAGE.:7\}", cells(page)[0])


@pytest.mark.parametrize(
    ("sql", "message", "line", "blamed"),
    [
        ("SELEC 1;", "line 1:1: Syntax Error", "SELEC 1;", "SELEC"),
        (
            "SELECT name,\n  nope FROM clicks EMIT CHANGES;",
            "SELECT column 'NOPE' cannot be resolved",
            "  nope FROM clicks EMIT CHANGES;",
            "nope",
        ),
        ("DROP STREAM x", "Expecting {';'}", "DROP STREAM x ", " "),
    ],
)
def test_errors_are_underlined(
    console: Console, page: Page, sql: str, message: str, line: str, blamed: str
) -> None:
    console.ksql.run(CLICKS)
    page.goto(console.url)
    run(page, f"LIST TABLES;\n{sql}\n; LIST TOPICS;" if sql.endswith(";") else sql)
    expect(page.locator(".results .bad")).to_contain_text(message)
    expect(page.locator(".results mark")).to_have_text(blamed, use_inner_text=True)
    assert page.locator(".results .excerpt").inner_text() == line
    expect(page.get_by_label("LIST")).to_have_count(1 if sql.endswith(";") else 0)
    expected_errors(page, "400")


def test_settings_and_variables_hold_for_what_follows(console: Console, page: Page) -> None:
    console.ksql.run(CLICKS + "INSERT INTO clicks VALUES ('anna', 7);")
    page.goto(console.url)
    begin = page.get_by_label("New queries begin")
    run(page, "SET 'auto.offset.reset' = 'latest'; DEFINE who = 'anna';")
    expect(page.locator(".results")).to_contain_text("auto.offset.reset is latest")
    expect(begin).to_have_value("latest")
    run(page, "SELECT page, '${who}' AS who FROM clicks EMIT CHANGES LIMIT 1;")
    note = page.get_by_role("status").last
    expect(note).to_contain_text("What was written before may be left out")
    begin.select_option("earliest")
    run(page, "SELECT page, '${who}' AS who FROM clicks EMIT CHANGES LIMIT 1;")
    expect(note).to_have_text("Ended: 1 row.")
    assert cells(page) == ["7", "anna"]
    run(page, "UNDEFINE who; UNSET 'auto.offset.reset'; SET 'bootstrap.servers' = 'x';")
    expect(page.locator(".results .bad")).to_contain_text("bootstrap.servers")
    expect(begin).to_have_value("")
    expected_errors(page, "400")


def test_the_selection_runs_alone(console: Console, page: Page) -> None:
    page.goto(console.url)
    page.get_by_role("textbox", name="SQL").fill("LIST TABLES; LIST TOPICS;")
    page.keyboard.press("Home")
    for _ in "LIST TABLES;":
        page.keyboard.press("Shift+ArrowRight")
    page.get_by_role("button", name="Run selection").click()
    expect(page.locator(".results .card")).to_have_text("LIST TABLES;No tables.")
    page.reload()
    expect(page.get_by_role("textbox", name="SQL")).to_have_value("LIST TABLES; LIST TOPICS;")


def test_the_topology_of_a_query(console: Console, page: Page) -> None:
    page.goto(f"{console.url}#query")
    expect(page.locator("#query")).to_contain_text("No query runs yet.")
    console.ksql.run(CLICKS + COUNTS + "INSERT INTO clicks VALUES ('anna', 7);")
    expect(page.locator("#query h2")).to_have_text("CTAS_COUNTS_1")
    expect(page.locator("#query .state")).to_have_text("RUNNING")
    expect(page.get_by_role("button", name="topic COUNTS", exact=True)).to_be_visible()
    page.get_by_role("tab", name="SQL").click()
    run(page, "EXPLAIN CTAS_COUNTS_1;")
    expect(page.locator(".results")).to_contain_text("Sub-topology: 0")
    page.get_by_role("button", name="Show its topology").click()
    assert page.url.endswith("#query/CTAS_COUNTS_1")
    shape = page.locator("[id='shape topic clicks']")
    shape.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".picked")).to_contain_text("topic")
    page.get_by_role("button", name="Print its records").click()
    expect(page.locator(".results td")).to_contain_text("key: anna")
    console.ksql.run("TERMINATE CTAS_COUNTS_1;")
    page.get_by_role("tab", name="Topology").click()
    expect(page.locator("#query")).to_contain_text("There is no query CTAS_COUNTS_1.")


@pytest.mark.parametrize("fields", [("anna", "geheim:ü"), ("", "a-token-of-16-letters")])
def test_users_and_tokens(page: Page, fields: tuple[str, str]) -> None:
    user, password = fields
    console = Console(Access({"anna": "geheim:ü"}, "a-token-of-16-letters"))
    try:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(console.url)
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("asks who you are")
        dialog.get_by_label("User").fill(user)
        dialog.get_by_label("Password or token").fill("wrong")
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("The server doesn't know them.")
        dialog.get_by_label("Password or token").fill(password)
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        expect(page.locator("#state")).to_have_text("RUNNING")
        run(page, CLICKS)
        expect(page.locator(".results")).to_contain_text("Stream created")
        expect(page.get_by_role("button", name=re.compile("^CLICKS"))).to_be_visible()
        assert not any(password in url for url in asked)
    finally:
        console.close()
    expected_errors(page, "401|ERR_")


def test_it_survives_a_restart(console: Console, page: Page) -> None:
    console.ksql.run(CLICKS)
    page.goto(console.url)
    expect(page.locator("#state")).to_have_text("RUNNING")
    run(page, "SELECT * FROM clicks EMIT CHANGES;")
    expect(page.get_by_role("status").last).to_contain_text("Running")
    port = console.http.host_and_port[1]
    console.http.close()
    expect(page.locator("#state")).to_have_text("NO CONNECTION")
    expect(page.locator("#notice")).to_contain_text("No answer from the server since")
    expect(page.locator(".results .bad")).to_have_count(1)
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()
    run(page, "LIST STREAMS;")
    expect(page.locator(".results .bad")).to_contain_text("Run it again when the server is back.")
    console.http = HttpServer(console.ksql.server, port=port)
    expect(page.locator("#state")).to_have_text("RUNNING")
    expect(page.locator("#notice")).to_be_hidden()
    run(page, "LIST STREAMS;")
    expect(page.locator(".results td").first).to_have_text("STREAM")
    expected_errors(page, "ERR_|Failed to load")


def test_no_script_of_the_data_runs(console: Console, page: Page) -> None:
    # The query fails, as its name can't be that of an application; its error has the name in it.
    text = MARKUP.replace("'", "''")
    console.ksql.run(
        f"CREATE STREAM `{MARKUP}` (`{MARKUP}` STRING) "
        "WITH (kafka_topic='t', partitions=1, value_format='JSON');"
        f"CREATE STREAM s (`{MARKUP}` STRING) WITH (kafka_topic='t', value_format='JSON');"
        f"CREATE STREAM `{MARKUP}2` WITH (kafka_topic='t2') AS SELECT * FROM s;"
        f"INSERT INTO s VALUES ('{text}');"
    )
    page.goto(console.url)
    names = page.get_by_role("navigation").get_by_role("button")
    expect(names).to_have_count(4)
    names.filter(has_text=MARKUP).first.click()
    expect(page.locator(".results h3")).to_have_text(MARKUP)
    run(page, "SELECT * FROM s EMIT CHANGES LIMIT 1;")
    expect(page.locator(".results td")).to_have_text(MARKUP)
    expect(page.locator(".results th")).to_have_text(MARKUP)
    run(page, f"EXPLAIN SELECT `{MARKUP}` FROM s EMIT CHANGES; {MARKUP};")
    expect(page.locator(".results p.bad")).to_be_visible()
    expect(page.locator(".results td").first).to_have_text(MARKUP)
    names.last.click()
    expect(page.locator("#query h2")).to_contain_text(MARKUP)
    expect(page.locator("#query .bad")).to_contain_text("<script>")
    expect(page.get_by_role("button", name="topic t2", exact=True)).to_be_visible()
    assert page.evaluate("window.ran") is None
    assert page.locator("img").count() == 1
    assert page.locator("script").count() == 1
    expected_errors(page, "400")


@pytest.mark.parametrize("tab", ["SQL", "Topology"])
def test_a_laptop_has_room_for_it(console: Console, page: Page, tab: str) -> None:
    console.ksql.run(CLICKS + COUNTS)
    page.goto(f"{console.url}#{'query' if tab == 'Topology' else 'sql'}")
    expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
    run(page, "LIST FUNCTIONS;") if tab == "SQL" else None
    expect(page.get_by_role("button", name=re.compile("^COUNTS"))).to_be_visible()
    size = page.evaluate("[document.documentElement.scrollWidth, document.body.scrollHeight]")
    assert size == [1280, 800]
