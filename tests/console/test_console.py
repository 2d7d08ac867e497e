"""The console in a real browser."""

from __future__ import annotations

import dataclasses
import re
import time
from typing import Any

import orjson
import pytest
from playwright.sync_api import Page, expect

from headrace import StreamsBuilder, serdes
from headrace.server import answers
from tests.console.application import NINE, FakeApplication
from tests.console.browser import expected_errors

MARKUP = "<img src=x onerror=\"window.ran='yes'\"><script>window.ran='yes'</script>"


def test_it_shows_the_topology_and_counts(application: FakeApplication, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(application.url)
    expect(page.locator("#state")).to_have_text("RUNNING")
    expect(page).to_have_title("store-purchases · Headrace")
    expect(page.locator("#application")).to_have_text("store-purchases")
    for topic in ("purchases", "patterns", "by-customer-repartition", "department-counts"):
        expect(page.get_by_role("button", name=f"topic {topic}", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="store points", exact=True)).to_be_visible()
    expect(page.locator(".part text").first).to_have_text("Sub-topology 0")
    expect(page.locator(".chip .lag").first).to_have_text("lag 4")
    expect(page.locator(".chip .rate").first).to_have_text(re.compile(r"^3\d\d/s$"))
    before = page.locator("#facts").inner_text()
    expect(page.locator("#facts")).not_to_have_text(before)
    assert re.match(r"\d\d,\d\d\d records · \d+ batches · up \d+ s · Headrace 0\.1\.0", before)
    assert {url.split("/")[2] for url in asked} == {f"127.0.0.1:{application.port}"}


@pytest.mark.parametrize("tab", ["Topology", "Tasks", "Stores", "Errors", "Configuration"])
def test_a_laptop_has_room_for_it(application: FakeApplication, page: Page, tab: str) -> None:
    page.goto(f"{application.url}/#{tab.lower()}")
    expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
    expect(page.locator("#facts")).not_to_have_text("")
    size = page.evaluate("[document.documentElement.scrollWidth, document.body.scrollHeight]")
    assert size == [1280, 800]


def test_a_node_is_inspected(application: FakeApplication, page: Page) -> None:
    tags = {"processor-node-id": "mask-cards"}
    application.metrics = [
        answers.Metric(
            "process-total", "stream-processor-node-metrics", "", {**tags, "task-id": task}, 600.0
        )
        for task in ("0_0", "0_1")
    ]
    page.goto(application.url)
    inspector = page.locator(".inspector")
    expect(inspector).to_be_hidden()
    page.get_by_role("button", name="processor mask-cards").click()
    expect(inspector.locator("h2")).to_have_text("mask-cards")
    expect(inspector).to_contain_text("process-total1,200")
    page.get_by_role("button", name="topic purchases", exact=True).click()
    expect(inspector.get_by_role("region", name="Partitions").locator("tbody tr")).to_have_count(2)
    page.get_by_role("button", name="store points", exact=True).click()
    expect(inspector).to_contain_text("1_0, 1_1")
    inspector.get_by_role("button", name="Look into it").click()
    expect(page.locator("#stores h2")).to_have_text("points")


def test_a_topic_has_its_latest_records(application: FakeApplication, page: Page) -> None:
    page.goto(application.url)
    inspector = page.locator(".inspector")
    page.get_by_role("button", name="topic purchases", exact=True).click()
    expect(inspector).to_contain_text("No records: none were written")
    application.records = [
        answers.Record(1, 7, NINE, "ann", {"item": MARKUP}, None),
        answers.Record(0, 5, NINE, None, "/w==", "The value can't be read: ValueError: no"),
    ]
    rows = page.get_by_role("region", name="Latest records").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("1 at 7")
    expect(rows.first).to_contain_text(value_of(MARKUP))
    expect(rows.last.locator(".bad")).to_have_text("The value can't be read: ValueError: no")
    # Dots show those of their topic, other nodes none.
    page.locator("g.shape.source").first.click()
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="processor mask-cards").click()
    expect(rows).to_have_count(0)
    # They are asked for only while they are seen.
    page.get_by_role("button", name="topic purchases", exact=True).click()
    expect(rows).to_have_count(2)
    page.get_by_role("tab", name="Tasks").click()
    before = sum("/records" in path for path in application.requests)
    page.wait_for_timeout(6_000)
    assert sum("/records" in path for path in application.requests) == before
    application.problem = answers.Problem("about:blank", "Not now", 503, "Kafka is away.", "x")
    page.get_by_role("tab", name="Topology").click()
    expect(inspector).to_contain_text("Its records can't be read now.Kafka is away.")
    assert page.evaluate("window.ran") is None
    expected_errors(page, "503")


def value_of(text: str) -> str:
    """As the console writes it inside an object."""
    return orjson.dumps({"item": text}).decode()


def test_a_large_topology_begins_so_that_it_can_be_read(
    application: FakeApplication, page: Page
) -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=serdes.string(), value=serdes.string())
    for number in range(40):
        stream.filter(lambda key, value: True).to(f"out-{number}")
    application.topology = builder.build()
    page.goto(application.url)
    label = page.locator(".part text").first
    expect(label).to_be_visible()
    readable = label.bounding_box()
    assert readable is not None
    assert readable["height"] > 7
    shapes = page.locator("g.shape")
    canvas = page.locator(".canvas")
    assert not is_seen(page, "out-39")
    # Arrow keys bring into view what they go to.
    page.locator("[id='shape topic in']").focus()
    for _ in range(60):
        page.keyboard.press("ArrowDown")
    focused = page.evaluate("document.activeElement.id")
    assert is_seen(page, focused.removeprefix("shape topic "))
    page.get_by_role("button", name="The whole topology").click()
    assert is_seen(page, "out-39")
    assert shapes.count() == 1 + 1 + 40 * 3
    # So does the wheel, once the picture is larger than its frame.
    for _ in range(8):
        page.get_by_role("button", name="Larger").click()
    before = page.locator("svg.graph").get_attribute("viewBox")
    canvas.hover()
    page.mouse.wheel(0, 100)
    expect(page.locator("svg.graph")).not_to_have_attribute("viewBox", before or "")


def is_seen(page: Page, topic: str) -> bool:
    """Whether it is inside the frame of the topology."""
    found = page.get_by_role("button", name=f"topic {topic}", exact=True).bounding_box()
    frame = page.locator(".canvas").bounding_box()
    assert found is not None
    assert frame is not None
    return frame["y"] <= found["y"] and found["y"] + found["height"] <= frame["y"] + frame["height"]


def test_tasks_and_what_is_restored(application: FakeApplication, page: Page) -> None:
    application.restoring = [answers.Restoration("points", "c", 1, 100, 1_100, 350)]
    page.goto(f"{application.url}/#tasks")
    expect(page.locator("#tasks tbody tr")).to_have_count(6)
    expect(page.locator("#tasks tbody tr").first).to_contain_text("127.0.0.1:4711")
    expect(page.locator("#notice")).to_contain_text("Restoring 1 store partition: 25%")
    expect(page.locator("#tasks")).to_contain_text("250 of 1,000")
    application.restoring = []
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator("#tasks progress")).to_have_count(0)


def test_a_key_is_looked_up(application: FakeApplication, page: Page) -> None:
    page.goto(f"{application.url}/#stores/points")
    form = page.locator("form[data-route=value]")
    form.get_by_label("Key").fill("ann")
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_have_text("214")
    form.get_by_label("Key").fill("eve")
    form.get_by_role("button", name="Look up").click()
    expect(page.locator("#stores .remark")).to_have_text(
        "No such keyStore points has no key 'eve'."
    )
    application.problem = answers.Problem(
        "about:blank", "Not now", 503, "Partition 1 is being restored.", "x", "Ask in a second."
    )
    form.get_by_role("button", name="Look up").click()
    expect(page.locator("#stores .remark")).to_contain_text("Ask in a second.")
    expected_errors(page, "404|503")


def test_entries_come_in_pages(application: FakeApplication, page: Page) -> None:
    application.values = {f"key-{number:03}": number for number in range(120)}
    page.goto(f"{application.url}/#stores/points")
    form = page.locator("form[data-route=entries]")
    form.get_by_label("From").fill("key")
    form.get_by_role("button", name="List").click()
    rows = page.locator("#stores tbody tr")
    expect(rows).to_have_count(50)
    page.get_by_role("button", name="More").click()
    expect(rows).to_have_count(100)
    page.get_by_role("button", name="More").click()
    expect(rows).to_have_count(120)
    expect(page.get_by_role("button", name="More")).to_be_hidden()
    expect(page.locator("#stores")).to_contain_text("120 entries.")
    assert any("from=key&" in path and "limit=50" in path for path in application.requests)


def test_windows_sessions_and_versions(application: FakeApplication, page: Page) -> None:
    page.goto(f"{application.url}/#stores/per-department")
    form = page.locator("form[data-route=windows]")
    form.get_by_label("Key").fill("tea")
    form.get_by_label("From").fill("2027-01-15T08:00:00")
    form.get_by_label("Order").select_option("desc")
    form.get_by_role("button", name="List").click()
    expect(page.locator("#stores tbody tr").first).to_have_text(
        "tea2027-01-15 08:00:002027-01-15 08:05:00172027-01-15 08:00:00"
    )
    asked = f"key=tea&from={NINE}&order=desc&limit=50"
    assert any(asked in path for path in application.requests)
    page.get_by_role("button", name="visits session").click()
    page.locator("form[data-route=sessions]").get_by_role("button").click()
    expect(page.locator("#stores tbody tr")).to_have_count(3)
    page.get_by_role("button", name="prices versioned").click()
    versions = page.locator("form[data-route=versions]")
    versions.get_by_label("Key").fill("tea")
    versions.get_by_role("button").click()
    expect(page.locator("#stores tbody tr").last).to_contain_text("now")


def test_errors_and_dead_letters(application: FakeApplication, page: Page) -> None:
    page.goto(f"{application.url}/#errors")
    expect(page.locator("#errors")).to_contain_text("No errors since the application was started.")
    expect(page.locator("#errors")).to_contain_text("errors.dead.letter.queue.topic.name")
    application.errors = [answers.Failure(NINE, "ProcessingError", "It broke.", "0_1", "w")]
    letter = answers.DeadLetter(0, 7, NINE, "ann", '{"a":', "ValueError", "cut", "purchases", 1, 42)
    application.dead_letters = answers.DeadLetters("lost", [letter])
    expect(page.get_by_role("tab", name="Errors (1)")).to_be_visible()
    expect(page.locator("#errors")).to_contain_text("It broke.")
    expect(page.locator("#errors")).to_contain_text("Dead letters in lost")
    expect(page.locator("#errors")).to_contain_text("purchases 1 at 42")


def test_settings_are_found_and_secrets_are_hidden(
    application: FakeApplication, page: Page
) -> None:
    page.goto(f"{application.url}/#configuration")
    rows = page.locator("#configuration tbody tr")
    expect(rows).to_have_count(2)
    expect(page.locator("#configuration")).to_contain_text("sasl.password****")
    page.get_by_label("defaults too").check()
    page.get_by_label("Find", exact=True).fill("commit")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("commit.interval.ms")
    page.get_by_label("Find", exact=True).fill("nonsense")
    expect(page.locator("#configuration")).to_contain_text("No such setting.")


def test_it_pauses_and_resumes(application: FakeApplication, page: Page) -> None:
    page.goto(application.url)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#state")).to_have_text("PAUSED")
    assert application.paused
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#state")).to_have_text("RUNNING")
    assert not application.paused


# When things are not there, or gone


def test_an_application_that_starts(application: FakeApplication, page: Page) -> None:
    application.state, application.lag = "REBALANCING", None
    page.goto(application.url)
    expect(page.locator("#state")).to_have_text("REBALANCING")
    expect(page.locator(".chart").nth(1).locator(".now")).to_have_text("–")


def test_what_an_application_waits_for(application: FakeApplication, page: Page) -> None:
    application.state, application.reason = "REBALANCING", "Waiting for host-2 to end."
    page.goto(application.url)
    expect(page.locator("#notice")).to_have_text("Waiting for host-2 to end.")


def test_an_application_that_has_failed(application: FakeApplication, page: Page) -> None:
    application.state, application.last_error = "ERROR", "Topic purchases is gone."
    page.goto(application.url)
    expect(page.locator("#notice")).to_have_text("Topic purchases is gone.")
    expect(page.locator("#pause")).to_be_hidden()


def test_it_survives_a_restart(application: FakeApplication, page: Page) -> None:
    page.goto(application.url)
    expect(page.get_by_role("button", name="topic purchases", exact=True)).to_be_visible()
    application.close()
    expect(page.locator("#state")).to_have_text("NO CONNECTION")
    expect(page.locator("#notice")).to_contain_text("What you see is from before.")
    expect(page.get_by_role("button", name="topic purchases", exact=True)).to_be_visible()
    builder = StreamsBuilder()
    builder.stream("other", key=serdes.string(), value=serdes.string()).to("others")
    again = FakeApplication(builder.build(), port=application.port)
    try:
        again.application_id = "another"
        expect(page.locator("#state")).to_have_text("RUNNING")
        expect(page.locator("#application")).to_have_text("another")
        expect(page.locator("#notice")).to_be_hidden()
        expect(page.get_by_role("button", name="topic other", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="topic purchases", exact=True)).to_have_count(0)
    finally:
        again.close()
    expected_errors(page, "ERR_CONNECTION|ERR_EMPTY_RESPONSE|Failed to load")


def test_a_token_is_asked_for_and_never_in_an_address(
    application: FakeApplication, page: Page
) -> None:
    application.token = "a-token-of-16-letters"
    page.goto(application.url)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("asks for a token")
    page.keyboard.press("Escape")
    expect(dialog).to_be_visible()
    dialog.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("That is not the token of this application.")
    dialog.get_by_label("Token").fill(application.token)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.locator("#state")).to_have_text("RUNNING")
    page.reload()
    expect(page.locator("#state")).to_have_text("RUNNING")
    assert not any(application.token in path for path in application.requests)
    expected_errors(page, "401")


# What is in the data stays data


def test_no_script_of_the_data_runs(application: FakeApplication, page: Page) -> None:
    def poisoned(path: str, query: dict[str, str]) -> Any:
        """The answer with markup in every text that isn't a fixed word of ours."""
        return _poison(answer(path, query))

    answer = application.answer
    application.errors = [answers.Failure(NINE, "K", "m", "0_0", "w")]
    letter = answers.DeadLetter(0, 7, NINE, "k", "v", "E", "m", "t", 1, 42)
    application.dead_letters = answers.DeadLetters("lost", [letter])
    application.last_error = "e"
    application.restoring = [answers.Restoration("s", "t", 0, 0, 2, 1)]
    application.metrics = [answers.Metric("m", "g", "d", {"processor-node-id": "mask-cards"}, "v")]
    application.values = {MARKUP: MARKUP}
    application.answer = poisoned  # type: ignore[method-assign]
    page.goto(application.url)
    expect(page.locator("#application")).to_have_text(f"store-purchases{MARKUP}")
    # Labels are as long as the markup now, and cover each other.
    page.locator("g.shape").first.dispatch_event("click")
    expect(page.locator(".inspector h2")).to_contain_text(MARKUP)
    page.locator("g.shape.store").first.dispatch_event("click")
    for tab in ("Tasks", "Errors", "Configuration", "Stores"):
        page.get_by_role("tab", name=tab).click()
        expect(page.locator(f"#{tab.lower()}")).to_contain_text(MARKUP)
    form = page.locator("form[data-route=value]")
    form.get_by_label("Key").fill(MARKUP)
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_contain_text(MARKUP)
    form = page.locator("form[data-route=entries]")
    form.get_by_role("button").click()
    expect(page.locator("#stores td").first).to_contain_text(MARKUP)
    assert page.evaluate("window.ran") is None
    assert page.locator("img").count() == 1
    assert page.locator("script").count() == 1
    expected_errors(page, "404")


_FIXED = {
    "kind",
    "state",
    "lookups",
    "key_encoding",
    "importance",
    "type",
    "path",
    "id",
    "start",
    "end",
    "next",
}


def _poison(answer: Any) -> Any:
    if dataclasses.is_dataclass(answer) and not isinstance(answer, type):
        changes = {
            field.name: _poison(getattr(answer, field.name))
            for field in dataclasses.fields(answer)
            if field.name not in _FIXED
        }
        return dataclasses.replace(answer, **changes)
    if isinstance(answer, str):
        return answer if MARKUP in answer else answer + MARKUP
    if isinstance(answer, list):
        return [_poison(each) for each in answer]
    return answer


def test_the_page_can_run_nothing_but_its_files(application: FakeApplication, page: Page) -> None:
    page.goto(application.url)
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            try { script.textContent = "window.ran = 'yes'"; } catch {}
            document.body.append(script);
            try { document.body.insertAdjacentHTML("beforeend", "<b id=parsed>"); } catch {}
        }"""
    )
    assert page.evaluate("window.ran") is None
    assert page.locator("#parsed").count() == 0
    expected_errors(page, "Content Security Policy|Trusted|inline script")


# For everybody


def test_it_works_with_the_keyboard_alone(application: FakeApplication, page: Page) -> None:
    page.goto(application.url)
    expect(page.get_by_role("button", name="topic purchases", exact=True)).to_be_visible()
    stops = []
    for _ in range(6):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        assert page.evaluate(_HAS_VISIBLE_FOCUS), stops
    assert stops == ["A", "pause", "theme", "tab-topology", "shape topic purchases", "BUTTON"]
    page.locator("[id='shape topic purchases']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".inspector h2")).to_have_text("mask-cards")
    page.keyboard.press("Escape")
    expect(page.locator(".inspector")).to_be_hidden()
    assert page.evaluate("document.activeElement.id") == "shape node mask-cards"
    page.get_by_role("tab", name="Topology").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tasks")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator("#configuration")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#topology")).to_be_visible()


_HAS_VISIBLE_FOCUS = """() => {
    const style = getComputedStyle(document.activeElement);
    const inner = document.activeElement.querySelector("rect, path");
    return style.outlineStyle !== "none" || getComputedStyle(inner).strokeWidth === "3.5px";
}"""


def test_light_and_dark(application: FakeApplication, page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(application.url)
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Light colours").click()
    expect(root).to_have_attribute("data-theme", "light")
    page.reload()
    expect(root).to_have_attribute("data-theme", "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out(application: FakeApplication, page: Page, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(application.url)
    colours = page.evaluate(
        """() => {
            const style = getComputedStyle(document.documentElement);
            const names = [...style].filter((name) => name.startsWith("--"));
            return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(name)]));
        }"""
    )
    pairs = [
        *(("ink", ground) for ground in ("ground", "surface", "raised", "part", "topic", "store")),
        *(("quiet", ground) for ground in ("ground", "surface", "raised", "part")),
        *((name, f"{name}-ground") for name in ("good", "busy", "bad")),
        ("on-accent", "accent"),
        ("bad", "ground"),
        ("busy", "surface"),
    ]
    for text, ground in pairs:
        assert contrast(colours[f"--{text}"].strip(), colours[f"--{ground}"].strip()) >= 4.5, (
            text,
            ground,
        )


def contrast(one: str, other: str) -> float:
    """WCAG's."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted([luminance(one), luminance(other)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("copies", [1, 60])
def test_it_asks_for_less_than_50_kb_a_second(
    application: FakeApplication, page: Page, copies: int
) -> None:
    tasks = application._tasks
    application._tasks = lambda: tasks() * copies  # type: ignore[method-assign]
    page.goto(f"{application.url}/#errors")
    expect(page.locator("#tasks tbody tr")).to_have_count(6 * copies)
    began, before = time.monotonic(), application.bytes_sent
    page.wait_for_timeout(5_000)
    rate = (application.bytes_sent - before) / (time.monotonic() - began)
    assert 100 < rate < 50_000
