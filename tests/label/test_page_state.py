"""What the page says about the campaign is true: people, pace, model, curves, and whether the server is there."""

import pytest

from label.test_page import Person
from label.test_page_accessible import PHONE, WIDE, violations
from label.test_page_keys import MANY, table  # noqa: F401
from label.test_page_layout import box, status

pytestmark = pytest.mark.slow


def point(round_, labels, diameter, accuracy=None):
    audit = None if accuracy is None else {"images": 20, "accuracy": accuracy, "low": accuracy - 0.1, "high": accuracy}
    return {"round": round_, "labels": labels, "diameter": diameter, "audit": audit}


def row(page, title):
    """The text of a row of the panel; empty if there is none."""
    return page.evaluate("""title => [...document.querySelectorAll('#now div')]
        .find(row => row.firstChild.textContent === title)?.lastChild.textContent ?? ''""", title)  # fmt: skip


def test_people_are_counted_and_named_and_a_tab_that_is_closed_no_longer_counts(table):  # noqa: F811
    person = table(query="&as=anna")
    page = person.page
    assert "people" not in page.locator("#figures").inner_text()
    assert row(page, "People") == ""
    tabs = [Person(page.context.new_page(), person.server).open(query) for query in ("&as=ben", "&as=ben", "")]
    page.wait_for_function("() => / · 3 people/.test(document.querySelector('#figures').textContent)")
    assert row(page, "People") == "anna (you), ben, 1 without a name"
    assert page.locator("#figures .people").get_attribute("title") == "anna, ben, without a name"
    for tab in tabs:
        tab.page.close()
    page.wait_for_function("() => !/people/.test(document.querySelector('#figures').textContent)")


def test_classes_without_labels_are_named_until_they_have_one(table):  # noqa: F811
    person = table(("ant", "bee", "cat"))
    page = person.page
    assert row(page, "Not seen yet") == ""
    for key, unseen in (("1", "bee, cat"), ("3", "bee"), ("2", "")):
        image = person.image()
        page.keyboard.press(key)
        page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=image)
        person.seen()
        page.wait_for_function("""unseen => ([...document.querySelectorAll('#now div')]
            .find(row => row.firstChild.textContent === 'Not seen yet')?.lastChild.textContent ?? '') === unseen""",
            arg=unseen)  # fmt: skip
    page.keyboard.press("Backspace")
    page.wait_for_function("() => document.querySelector('#now').textContent.includes('Not seen yetbee')")


def test_many_classes_without_labels_are_listed_in_part(table):  # noqa: F811
    person = table(MANY)
    person.page.locator(".class").first.click()
    person.page.wait_for_function("() => document.querySelector('#now').textContent.includes('and 7 more')")
    assert row(person.page, "Not seen yet").split(", ")[:8] == list(MANY[1:9])


def test_curves_have_scales_and_an_undo_does_not_bend_them_backwards(table):  # noqa: F811
    page = table().page
    points = [point(1, 10, 0.3), point(2, 20, 0.2, 0.6), point(3, 34, 0.15, 0.7), point(4, 28, 0.12, 0.8),
              point(5, 40, 0.1, 0.9)]  # fmt: skip
    status(page, curves=points, round=5)
    page.wait_for_selector("#curves svg")
    lines = page.locator("#curves .line").evaluate_all(
        "all => all.map(line => line.getAttribute('points').split(' ').map(p => Number(p.split(',')[0])))"
    )
    assert [len(line) for line in lines] == [4, 3], "the round that the undo made void is left out"
    for line in lines:
        assert line == sorted(line)
    ticks = [texts.split("|") for texts in page.locator("#curves svg").evaluate_all(
        "all => all.map(svg => [...svg.querySelectorAll('.tick')].map(t => t.textContent).join('|'))")]  # fmt: skip
    assert ticks[0] == ["0%", "25%", "50%", "0", "25", "50 labels"]
    assert ticks[1] == ["0%", "50%", "100%", "0", "25", "50 labels"]
    inside = """() => [...document.querySelectorAll('#curves svg')].every(svg => [...svg.children].every(part => {
      const [a, b] = [part.getBoundingClientRect(), svg.getBoundingClientRect()];
      return a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1; }))"""
    assert page.evaluate(inside)


def test_a_scale_ends_at_a_round_number(table):  # noqa: F811
    page = table().page
    ends = {0.02: 0.02, 0.021: 0.05, 0.3: 0.5, 1: 1, 10: 10, 43: 50, 101: 200}
    found = page.evaluate("async values => values.map((await import('/static/side.js')).ceiling)", list(ends))
    assert found == pytest.approx(list(ends.values()))


def test_no_model_is_said_while_there_is_none_with_what_it_waits_for(table):  # noqa: F811
    person = table()
    page = person.page
    light = page.locator("#light .why")
    assert light.text_content() == (
        "No model yet: the first one needs 2 labels each of two classes, and no class has them yet."
    )
    for key, says in (("1", "no class has them yet"), ("1", "one class has them"), ("2", "one class has them"),
                      ("2", "the trainer stopped")):  # fmt: skip
        image = person.image()
        page.keyboard.press(key)
        page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=image)
        person.seen()
        page.wait_for_function("says => document.querySelector('#light .why').textContent.includes(says)", arg=says)
    status(page, round=3, grid=False, light={"colour": "red", "sentence": "Labels still help."},
           training={"stage": "idle", "share": 0.0, "round": 0, "trouble": "", "retry": 0.0})  # fmt: skip
    page.keyboard.press("g")
    page.wait_for_function("() => document.querySelector('#toast').textContent.includes('with the next round')")
    assert "o model" not in page.locator("body").inner_text()


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_server_that_is_away_is_said_once_and_large(table, viewport):  # noqa: F811
    person = table(viewport=viewport)
    page = person.page
    person.ahead(4)
    size = "selector => parseFloat(getComputedStyle(document.querySelector(selector)).fontSize)"
    status(page, training={"stage": "idle", "share": 0.0, "round": 0, "trouble": "", "retry": 0.0})
    assert page.locator(".trouble").is_hidden()
    page.route("**/api/**", lambda route: route.abort())
    for _ in range(2):
        page.locator(".class").first.click()
        page.wait_for_timeout(100)
    page.wait_for_function("() => document.querySelector('#trouble').textContent.includes('2 answers are stored here')")
    page.locator("#to-grid").click()
    page.wait_for_timeout(300)
    assert page.locator("body").inner_text().count("does not respond") == 1
    assert page.evaluate(size, "#trouble") >= 16 > page.evaluate(size, "#light")
    left, top, width, height = box(page, "#trouble")
    assert (left >= 0, top >= 0) == (True, True)
    assert left + width <= viewport["width"]
    assert top + height <= viewport["height"]
    assert violations(page) == []
    while page.locator("#frame img").count():
        page.locator(".class").first.click()
    page.wait_for_function("() => document.querySelector('#frame').textContent.includes('when the server is back')")
    page.unroute("**/api/**")
    person.seen()
    person.settled()
    page.wait_for_selector("#trouble", state="hidden")
