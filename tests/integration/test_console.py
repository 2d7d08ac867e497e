"""The console and the commands, with an application on a real Kafka and a real Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from headrace import StreamsBuilder, Topology, serdes
from tests.cli.conftest import Headrace, running
from tests.console.browser import browser, expected_errors, page
from tests.integration.applications import Cluster, close, wait_until

__all__ = ["browser", "page"]

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TEXT = serdes.string()
MARKUP = "<img src=x onerror=\"window.ran='yes'\"><script>window.ran='yes'</script>"
PATIENCE_MS = 60_000


@pytest.fixture
def headrace() -> Iterator[Headrace]:
    yield from running()


def counting(source: str) -> Topology:
    builder = StreamsBuilder()
    words = builder.stream(source, key=TEXT, value=TEXT)
    words.group_by(lambda _, word: word, key=TEXT, value=TEXT).count("counts")
    return builder.build()


def test_a_real_application_is_watched(
    cluster: Cluster, name: str, page: Page, headrace: Headrace
) -> None:
    source = f"{name}.in"
    cluster.kafka.create_topic(source, 2)
    words = [MARKUP, "coffee", "coffee"]
    cluster.send(source, [(None, word.encode()) for word in words])
    streams = cluster.application(counting(source), name, application_server="localhost:0")
    streams.start()
    address = streams.server_address
    assert address is not None
    page.goto(address)
    expect(page.locator("#state")).to_have_text("RUNNING", timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name=f"topic {source}", exact=True)).to_be_visible()
    repartition = f"topic {name}-counts-repartition"
    expect(page.get_by_role("button", name=repartition, exact=True)).to_be_visible()
    wait_until(lambda: streams.status().records_total == 6, "all to be counted", streams)
    expect(page.locator("#facts")).to_have_text(re.compile("^6 records"))
    expect(page.locator(".chip .lag").first).to_have_text("lag 0", timeout=PATIENCE_MS)
    # A topic has its latest records.
    page.get_by_role("button", name=f"topic {source}", exact=True).click()
    records = page.get_by_role("region", name="Latest records").locator("tbody tr")
    expect(records).to_have_count(3, timeout=PATIENCE_MS)
    expect(records.filter(has_text=MARKUP)).to_have_count(1)
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Tasks").click()
    expect(page.locator("#tasks tbody tr")).to_have_count(4)
    # Keys are looked up, and what is in them stays text.
    page.get_by_role("tab", name="Stores").click()
    key = page.locator("form[data-route=value]").get_by_label("Key")
    for word, count in ((MARKUP, "1"), ("coffee", "2")):
        key.fill(word)
        page.keyboard.press("Enter")
        expect(page.locator(".answer")).to_have_text(count)
    page.locator("form[data-route=entries]").get_by_role("button", name="List").click()
    expect(page.locator("#stores tbody tr")).to_have_count(2)
    expect(page.locator("#stores tbody")).to_contain_text(MARKUP)
    assert page.evaluate("window.ran") is None
    # The commands see the same.
    assert headrace("query", "counts", "coffee", "--server", address).stdout == "2\n"
    assert headrace("status", "--server", address).stdout.startswith(f" RUNNING  {name} ")
    close(streams)
    expect(page.locator("#state")).to_have_text("NO CONNECTION")
    again = cluster.application(
        counting(source), name, application_server=address.removeprefix("http://")
    )
    with again:
        cluster.send(source, [(None, b"coffee")])
        expect(page.locator("#state")).to_have_text("RUNNING", timeout=PATIENCE_MS)
        expect(page.locator("#facts")).to_have_text(re.compile("^2 records"), timeout=PATIENCE_MS)
        key.fill("coffee")
        key.press("Enter")
        expect(page.locator(".answer")).to_have_text("3")
        page.get_by_role("button", name="Pause").click()
        expect(page.locator("#state")).to_have_text("PAUSED")
        assert again.is_paused
        page.get_by_role("button", name="Resume").click()
        expect(page.locator("#state")).to_have_text("RUNNING")
    expect(page.locator("#state")).to_have_text("NO CONNECTION")
    expected_errors(page, "ERR_CONNECTION|ERR_EMPTY_RESPONSE|Failed to load")
