"""The review in a real browser: filters, selecting and relabelling by keyboard and mouse, the audit's tables."""

import numpy as np
import pytest

from label.test_page_accessible import violations
from label.test_page_keys import table  # noqa: F401
from versionspace.label.messages import Answer, Guesses

pytestmark = pytest.mark.slow

PHONE = {"viewport": {"width": 390, "height": 844}}


def labelled(person, names, audit=()):
    """Give the service these labels, by anna and ben in turn; the model says "1" about every third image."""
    service = person.service
    majority = np.array([int(row % 3 == 0) for row in range(len(service.pool))])
    agreement = np.full(len(service.pool), 0.8, np.float32)
    service.guesses = Guesses.of(1, tuple(service.state.classes), majority, agreement, service.pool)
    for number, name in enumerate(names):
        image = service.covering.ids[number]
        kind = "class" if name in service.state.classes else name
        answer = Answer(f"label-{number:04d}", kind, image, name if kind == "class" else None)
        assert service.answer("script", ("anna", "ben")[number % 2], [answer]).refused == []
    for image, name in zip(service.asks.of_audit(), audit, strict=False):
        service.answer("script", "anna", [Answer(f"audit-{image[:20]}", "class", image, name)])


def review(person, show=None):
    """Open the review, or one of its lists, and return the images on it."""
    page = person.page
    if page.locator("#review").is_hidden():
        page.keyboard.press("r")
        page.wait_for_selector("#cards .card, #no-cards:not([hidden])")
    if show:
        with page.expect_response("**/api/review"):
            page.locator(f"[data-show={show}]").click()
        page.wait_for_selector(f"[data-show={show}][aria-pressed=true]")
    return cards(page)


def cards(page):
    return page.locator(".card img").evaluate_all("all => all.map(i => i.src.split('/').pop().split('?')[0])")


def stored(person, images):
    person.settled()
    return [person.service.state.labels[image].name for image in images]


def test_a_filter_shows_its_labels_and_how_many_every_list_has(table):  # noqa: F811
    person = table()
    labelled(person, ["0", "1", "2", "1", "unsure", "bad", "skip", "0"])
    page = person.page
    assert len(review(person)) == 8
    for show in ("unsure", "bad", "skipped", "differs"):
        shown = review(person, show)
        assert page.locator(f"[data-show={show}] .count").inner_text() == str(len(shown))
        assert page.locator(".card").count() == len(shown) > 0
    review(person, "all")
    page.select_option("#review-class", "1")
    page.wait_for_function("() => document.querySelectorAll('.card').length === 2")
    page.select_option("#review-who", label="anna")
    page.wait_for_selector("#no-cards:not([hidden])")
    page.select_option("#review-who", label="all")
    page.wait_for_function("() => document.querySelectorAll('.card').length === 2")
    assert page.locator(".card .label").all_inner_texts() == ["1", "1"]


def test_many_labels_are_changed_and_changed_back_with_keys_alone(table):  # noqa: F811
    person = table()
    labelled(person, ["0"] * 6)
    page = person.page
    images = review(person)
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    assert page.locator("#selected").inner_text() == "3 selected"
    page.keyboard.press("3")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.card .label')].filter(c => c.textContent === '2').length === 3"
    )
    assert sorted(stored(person, images)) == ["0", "0", "0", "2", "2", "2"]
    changed = [image for image in images if person.service.state.labels[image].name == "2"]
    details = person.service.state.labels[changed[0]].details
    assert details["review"] is True
    assert details["guess"]["shown"] == "before", "the card shows the guess"
    page.keyboard.press("Backspace")
    page.wait_for_function("() => [...document.querySelectorAll('.card .label')].every(c => c.textContent === '0')")
    assert stored(person, images) == ["0"] * 6
    page.keyboard.press("u")  # the focused label alone
    page.wait_for_function("() => document.querySelectorAll('.card .label.none').length === 1")


def test_labels_are_changed_by_mouse_and_on_a_phone(table):  # noqa: F811
    person = table(has_touch=True, **PHONE)
    labelled(person, ["0"] * 4)
    page = person.page
    page.locator("#to-review").tap()
    page.wait_for_selector(".card")
    images = cards(page)
    page.locator(".card").nth(1).tap()
    page.locator(".card").nth(2).tap()
    page.select_option("#relabel-to", "1")
    page.locator("#relabel").tap()
    page.wait_for_function(
        "() => [...document.querySelectorAll('.card .label')].filter(c => c.textContent === '1').length === 2"
    )
    assert sorted(stored(person, images)) == ["0", "0", "1", "1"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator("#relabel").bounding_box()
    assert box["y"] + box["height"] <= 844
    assert box["height"] >= 44


def test_no_key_of_the_review_answers_the_image_behind_it(table):  # noqa: F811
    person = table()
    labelled(person, ["0"] * 2)
    image = person.image()
    review(person)
    person.page.locator("#shows button").first.focus()
    for key in ("1", " ", "x", "u", "Enter", "Backspace"):
        person.page.keyboard.press(key)
    person.page.keyboard.press("Escape")
    person.seen()
    assert person.image() == image
    person.settled()
    assert image not in person.service.state.labels
    person.page.keyboard.press("1")
    person.page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=image)
    assert stored(person, [image]) == ["0"]


def test_a_cell_of_the_confusion_matrix_opens_its_images(table):  # noqa: F811
    person = table()
    labelled(person, ["0"] * 3, audit=["0", "1", "2"] * 4)
    page = person.page
    review(person)
    page.locator("#audit-review summary").click()
    assert "of 12 audit images" in page.locator("#audit-review summary").inner_text()
    cell = page.locator(".matrix .miss button").first
    name, count = cell.get_attribute("aria-label"), int(cell.inner_text())
    cell.click()
    page.wait_for_function("n => document.querySelectorAll('.card').length === n", arg=count)
    label, guess = name.removeprefix("Label ").split(":")[0].split(", model ")
    assert set(page.locator(".card .label").all_inner_texts()) == {label}
    assert all(f"model: {guess}" in text for text in page.locator(".card .model").all_inner_texts())
    page.locator("#review-guess").click()
    page.wait_for_selector("#review-guess[hidden]", state="attached")
    page.select_option("#review-class", "")
    shown = review(person, "mistakes")
    right = {image for image in shown if image in person.service.asks.audit_images}
    assert len(right) == len(shown) == int(page.locator("[data-show=mistakes] .count").inner_text())


def test_pages_of_a_hundred_and_thumbnails_that_load_when_they_are_seen(table):  # noqa: F811
    person = table()
    labelled(person, ["0"] * 120)
    page = person.page
    first = review(person)
    assert len(first) == 100
    loaded = page.locator(".card img").evaluate_all("all => all.filter(i => i.complete && i.naturalWidth).length")
    assert loaded < 100
    page.locator("#page-on").click()
    page.wait_for_function("() => document.querySelectorAll('.card').length === 20")
    assert not set(first) & set(cards(page))


def test_what_somebody_else_changes_is_seen_and_keeps_the_selection(table):  # noqa: F811
    person = table()
    labelled(person, ["0"] * 4)
    page = person.page
    images = review(person)
    page.locator(".card").nth(0).click()
    page.keyboard.press("Escape")
    review(person)
    page.locator(".card").nth(0).click()
    person.service.answer("other", "ben", [Answer("of-another-tab", "class", images[3], "2")])
    page.wait_for_function("() => [...document.querySelectorAll('.card .label')].some(c => c.textContent === '2')")
    assert page.locator("#selected").inner_text() == "1 selected"
    selected = page.locator(".card[aria-selected=true] img").get_attribute("src")
    assert images[0] in selected


def test_all_answers_to_an_image_are_listed(table):  # noqa: F811
    person = table()
    labelled(person, ["0"])
    image = person.service.covering.ids[0]
    person.service.answer("other", "ben", [Answer("of-another-tab", "class", image, "2")])
    review(person)
    person.page.keyboard.press("Enter")
    person.page.wait_for_selector("#closer-answers li")
    person.page.keyboard.press("Escape")
    person.page.locator(".card").first.dblclick()
    person.page.wait_for_selector("#closer-answers li")
    lines = person.page.locator("#closer-answers li").all_inner_texts()
    assert lines[0].startswith("2 · ben · ")
    assert lines[1].startswith("0 · anna · ")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("options", [{}, PHONE], ids=["wide", "phone"])
def test_axe_finds_nothing(table, scheme, options):  # noqa: F811
    person = table(color_scheme=scheme, **options)
    labelled(person, ["0", "1", "2", "unsure"], audit=["0", "1", "2"] * 4)
    page = person.page
    page.locator("#to-review").click()
    page.wait_for_selector(".card")
    page.locator(".card").first.click()
    assert violations(page) == []
    page.locator("#audit-review summary").click()
    assert violations(page) == []
    page.locator("#closer-open").click()
    page.wait_for_selector("#closer-answers li")
    assert violations(page) == []
