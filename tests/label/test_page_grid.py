"""The grid in a real browser: what it offers, how it is laid out, and how it is undone."""

from collections import Counter

import numpy as np
import pytest

from label.test_page_accessible import violations
from label.test_page_keys import READY, fetched_ahead, grid, stored, table  # noqa: F401
from label.test_page_layout import box
from versionspace.label.messages import Guesses

pytestmark = pytest.mark.slow


def vote(service, shares):
    """Let the model guess class 0 for the first of the pool, then class 1, …: (number of images, agreement) each."""
    size = len(service.pool)
    majority, agreement = np.zeros(size, np.int32), np.full(size, 0.5, np.float32)
    start = 0
    for c, (count, share) in enumerate(shares):
        majority[start : start + count], agreement[start : start + count] = c, share
        start += count
    service.guesses = Guesses.of(1, tuple(service.state.classes), majority, agreement, service.pool)


def cells(page):
    return page.locator(".cell img").evaluate_all("all => all.map(i => i.src.split('/').pop())")


def current(person):
    person.settled()
    return {image: given.name for image, given in person.service.history.current.items()}


def confirmed(page):
    page.wait_for_selector(READY)
    page.keyboard.press("Enter")
    page.wait_for_function("() => / × /.test(document.querySelector('#toast').textContent)")


@pytest.mark.parametrize("place", ["in the grid", "by its button", "after leaving it", "after a reload"])
def test_undo_takes_the_whole_grid_back_and_shows_it_again(table, place):  # noqa: F811
    person = table()
    page = person.page
    single = person.image()
    page.keyboard.press("2")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=single)
    shown = grid(person)
    page.locator(".cell").nth(4).click()
    confirmed(page)
    assert Counter(current(person).values()) == {"0": 8, "1": 1}
    page.wait_for_selector(READY)
    if place == "after leaving it":
        page.keyboard.press("g")
        page.wait_for_selector("#grid", state="hidden")
    elif place == "after a reload":
        page.reload()
        person.seen()
        page.wait_for_selector("#rail button")
    if place == "by its button":
        page.locator("#grid-undo").click()
    else:
        page.keyboard.press("Backspace")
    page.wait_for_function("id => document.querySelector('.cell img')?.src.endsWith(id)", arg=shown[0])
    assert page.locator("#grid-question strong").inner_text() == "0"
    assert current(person) == {single: "1"}
    assert set(shown) - set(cells(page)) <= {shown[4]}
    marked = page.locator('.cell[aria-pressed="true"] img').evaluate_all("all => all.map(i => i.src.split('/').pop())")
    assert marked == ([shown[4]] if place in ("in the grid", "by its button") else [])
    assert person.service.leases.held() >= set(cells(page))
    confirmed(page)
    assert current(person) == {single: "1"} | dict.fromkeys(set(shown) - {shown[4]}, "0")
    again = {person.service.history.current[i].details["guess"]["shown"] for i in shown if i != shown[4]}
    assert again == {"before"}, "the person saw the guess, then and now"
    page.keyboard.press("Backspace")
    page.wait_for_function("id => document.querySelector('.cell img')?.src.endsWith(id)", arg=shown[0])
    page.keyboard.press("Backspace")
    page.wait_for_function("id => document.querySelector('#frame img')?.src.endsWith(id)", arg=single)
    assert page.locator("#grid").is_hidden(), "the answer before the grid was given on its own"
    assert current(person) == {}


def test_a_grid_is_undone_from_the_last_page(table):  # noqa: F811
    person = table()
    page = person.page
    fetched_ahead(page)
    person.service.set_budget(9 + 5)
    shown = grid(person)
    assert len(shown) == 9, "five are there one by one"
    page.keyboard.press("Enter")
    page.wait_for_selector("#grid", state="hidden")
    person.settled()
    for _ in range(5):
        person.seen()
        image = person.image()
        page.keyboard.press("2")
        page.wait_for_function("id => !document.querySelector(`#frame img[src$='${id}']`)", arg=image)
    page.wait_for_selector("#finished:not([hidden])")
    for _ in range(6):
        page.keyboard.press("Backspace")
        person.settled()
    page.wait_for_selector("#grid .cell")
    assert cells(page) == shown
    person.settled()
    assert current(person) == {}
    assert page.locator("#finished").is_hidden()
    confirmed(page)
    assert current(person) == dict.fromkeys(shown, "0")


def test_a_grid_offers_the_classes_whose_guesses_are_sure(table):  # noqa: F811
    person = table()
    page, service = person.page, person.service
    vote(service, [(60, 0.75), (30, 0.85), (40, 1.0)])
    grid(person)
    assert page.locator("#grid-question strong").inner_text() == "2", "the class with most images that are sure"
    free = [i for i in service.covering.ids if i not in service.state.places]
    majority, agreement = service.guesses.majority, service.guesses.agreement
    rows = service.guesses.ids.rows(free)
    sure = Counter(str(majority[row]) for row in rows if agreement[row] >= 0.8)
    counts = dict(zip("012", page.locator(".class .count").all_inner_texts(), strict=True))
    assert {name: int(count or 0) for name, count in counts.items()} == {name: sure[name] for name in "012"}
    assert sure["1"] > 5 < sure["2"]
    assert page.locator(".class.unoffered .name").all_inner_texts() == ["0"]
    assert violations(page) == []
    page.keyboard.press("1")
    page.wait_for_function("() => document.querySelector('#toast').textContent.includes('80% of the members')")
    page.keyboard.press("g")
    page.wait_for_selector("#grid", state="hidden")
    assert page.locator(".class.unoffered").count() == 0
    assert page.locator(".class .count").all_inner_texts() == ["0", "0", "0"]
    assert stored(person) == []


@pytest.mark.parametrize("viewport", [(1280, 800), (1920, 1080), (390, 844)])
@pytest.mark.parametrize("side", ["3", "5"])
def test_cells_are_filled_by_their_pictures(table, viewport, side):  # noqa: F811
    person = table(viewport={"width": viewport[0], "height": viewport[1]})
    page = person.page
    page.locator("#to-grid").click()
    page.wait_for_selector("#grid:not([hidden]) .cell")
    page.select_option("#grid-side", side)
    page.wait_for_function("count => document.querySelectorAll('.cell').length === count", arg=int(side) ** 2)
    page.wait_for_selector(READY)
    found = page.locator(".cell").evaluate_all(
        "all => all.map(c => [c.offsetWidth, c.offsetHeight, c.getBoundingClientRect().bottom])"
    )
    bottom = page.evaluate("() => document.querySelector('#cells').getBoundingClientRect().bottom")
    for width, height, end in found:
        assert abs(width - height) <= 1, "square pictures, square cells"
        assert end <= bottom + 1
    _, _, width, height = box(page, "#cells")
    assert found[0][0] ** 2 * int(side) ** 2 > 0.55 * width * height, "and they use the room there is"
