"""The page for people who do not see it, or see it badly: rules checked by axe, and what a screen reader is told."""

import pytest

from label.test_page import Person
from versionspace.store import read_campaign

pytestmark = pytest.mark.slow
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python")

WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture
def opened(browser, shared):
    contexts = []

    def open_(**options):
        contexts.append(browser.new_context(**options))
        return Person(contexts[-1].new_page(), shared).open()

    yield open_
    for context in contexts:
        context.close()


def violations(page):
    found = axe.Axe().run(page).response["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:120]} ({v['nodes'][0]['failureSummary'][:200]})" for v in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_no_rule_is_broken_while_labelling(opened, scheme, viewport):
    person = opened(viewport=viewport, color_scheme=scheme)
    person.label(2)
    person.settled()
    assert violations(person.page) == []
    person.page.keyboard.press("?")
    person.page.wait_for_selector("#keys[open]")
    assert violations(person.page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_is_broken_in_the_grid(opened, scheme):
    person = opened(viewport=WIDE, color_scheme=scheme)
    person.label(12)
    person.model()
    person.page.keyboard.press("g")
    person.page.wait_for_selector("#grid img")
    assert violations(person.page) == []


def test_a_screen_reader_hears_what_can_be_done_and_what_was_done(opened):
    person = opened(viewport=WIDE)
    page = person.page
    tree = page.locator("body").aria_snapshot()
    for wanted in (
        'button "0"',
        'button "1"',
        'button "2"',
        'img "Image to label"',
        'application "Labelling"',
        "main",
        "status",
    ):
        assert wanted in tree, tree
    image = person.image()
    name = person.server.truth[image]
    person.label(1)
    heard = page.locator("#live")
    assert heard.get_attribute("aria-live") == "polite"
    assert name in heard.text_content()
    page.keyboard.press("Backspace")
    page.wait_for_function("name => document.querySelector('#live').textContent === 'Undone: ' + name", arg=name)


def test_keys_are_pressed_where_a_screen_reader_passes_them_on(opened):
    """Elsewhere Orca and others take 1 for "next heading" and G for "next image"."""
    person = opened(viewport=WIDE)
    page = person.page
    within = "() => Boolean(document.activeElement.closest('[role=application]'))"
    assert page.evaluate(within), "from the first image on"
    person.label(12)
    assert page.evaluate(within)
    page.locator(".class").first.click()
    assert page.evaluate(within), "after a click with the mouse"
    page.keyboard.press("?")
    page.keyboard.press("Escape")
    assert page.evaluate(within), "after a dialog"
    person.model()
    page.keyboard.press("g")
    page.wait_for_selector("#grid .cell")
    page.wait_for_function(within)
    page.keyboard.press("g")
    page.wait_for_selector("#single:not([hidden])")
    page.wait_for_function(within)


def test_a_button_that_tab_has_reached_is_pressed_by_space(opened):
    person = opened(viewport=WIDE)
    page, image = person.page, person.image()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.querySelector('.name')?.textContent") == "1":
            break
    page.keyboard.press("Space")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=image)
    person.settled()
    assert read_campaign(person.server.folder).state.labels[image].name == "1", "Space skipped instead"
    page.keyboard.press("Backspace")
    person.settled()


def test_everything_is_reached_by_tab_alone(opened):
    person = opened(viewport=WIDE)
    seen = set()
    for _ in range(60):
        person.page.keyboard.press("Tab")
        seen.add(person.page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
    assert {"undo", "zoom", "to-grid", "to-side", "to-keys", "new-class"} <= seen, seen


def test_a_status_that_comes_late_does_not_undo_a_newer_one(opened):
    page = opened(viewport=WIDE).page
    held = []
    page.route("**/api/status*", lambda route: held.append(route))  # noqa: PLW0108, Playwright marks the function

    def answer(route, **training):
        found = route.fetch()
        route.fulfill(response=found, json=found.json() | {"training": found.json()["training"] | training})

    def ask():
        before = len(held)
        page.evaluate("() => { document.dispatchEvent(new Event('visibilitychange')); }")
        while len(held) == before:
            page.wait_for_timeout(20)
        return held[-1]

    older, newer = ask(), ask()
    answer(newer, stage="down", trouble="memory ran out", retry=9.0)
    page.wait_for_function("() => document.querySelector('#trouble').textContent.includes('memory ran out')")
    with page.expect_response("**/api/status*"):
        answer(older)
    page.wait_for_timeout(100)
    assert "memory ran out" in page.locator("#trouble").text_content()


def test_a_trainer_that_stopped_is_announced_once_while_the_seconds_count_down(opened):
    page = opened(viewport=WIDE).page
    training = {"stage": "down", "share": 0.0, "round": 1, "trouble": "memory ran out", "retry": 12.0}

    def down(route):
        response = route.fetch()
        route.fulfill(response=response, json=response.json() | {"training": training})

    page.evaluate("""() => {
      window.said = [];
      const alert = document.querySelector('#trouble');
      const heard = new MutationObserver(() => window.said.push(alert.textContent));
      heard.observe(alert, { childList: true, characterData: true, attributes: true, subtree: true });
    }""")
    page.route("**/api/status*", down)
    for left, shown in ((12.0, "in 12 s"), (10.5, "in 11 s"), (7.4, "in 8 s"), (1.4, "in 2 s"), (0.6, ""), (0.1, "")):
        training["retry"] = left
        with page.expect_response("**/api/status*"):
            page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
        page.wait_for_function(
            "text => document.querySelector('footer').innerText.includes('The trainer stopped') &&"
            " (document.querySelector('footer').innerText.match(/in [0-9]+ s/)?.[0] ?? '') === text", arg=shown,
        )  # fmt: skip
    heard = "The trainer stopped: memory ran out. It restarts automatically. You can keep labelling."
    assert page.evaluate("() => window.said") == [heard]
    assert page.locator("#retry").get_attribute("aria-hidden") == "true"
    assert page.locator("[role=alert] #retry, [aria-live] #retry").count() == 0
    assert violations(page) == []
