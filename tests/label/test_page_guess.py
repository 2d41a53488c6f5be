"""The guess that is stored with a label is the one that the person saw, as it was when the image came."""

import numpy as np
import pytest

from label.test_page_keys import grid, table  # noqa: F401
from versionspace.label.messages import Guesses

pytestmark = pytest.mark.slow

OLD = {"class": "0", "agreement": 0.9}
NEW = {"class": "1", "agreement": 0.95}


def a_newer_model(service):
    size = len(service.pool)
    votes = {"majority": np.ones(size, np.int32), "agreement": np.full(size, 0.95, np.float32)}
    service.guesses = Guesses.of(2, ("0", "1", "2"), ids=service.pool, **votes)


def answered(person, key="1"):
    """Answers what is on the screen; gives its id once the next one is there."""
    image = person.image()
    person.page.keyboard.press(key)
    person.page.wait_for_function("id => document.querySelector(`#frame img:not([src$='${id}'])`) !== null", arg=image)
    person.seen()
    return image


def shown(person, when):
    """Changes the setting and goes on to an image that comes under it."""
    with person.page.expect_response("**/api/next"):
        person.page.select_option("#when", when)
    answered(person)
    assert person.page.locator("#guess").is_visible() is (when == "before")


def guess_of(person, image):
    person.settled()
    return person.service.state.labels[image].details["guess"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_model_that_comes_between_the_image_and_the_answer_changes_nothing(table, when):  # noqa: F811
    person = table()
    shown(person, when)
    a_newer_model(person.service)
    image = answered(person)
    assert guess_of(person, image) == OLD | {"shown": when}
    assert list(person.service.history.doubtful) == [], "the person was of the model's mind"
    if when == "after":
        assert "The model: 0 (90% of its members)" in person.page.locator("#toast").inner_text()


@pytest.mark.parametrize("then", ["hidden", "after", "before"])
@pytest.mark.parametrize("when", ["hidden", "after", "before"])
def test_a_setting_that_is_changed_under_an_image_counts_from_the_next_one_on(table, when, then):  # noqa: F811
    person = table()
    page = person.page
    shown(person, when)
    page.select_option("#when", then)
    assert page.locator("#guess").is_visible() is (when == "before")
    page.evaluate("() => { document.querySelector('#toast').textContent = ''; }")
    first = answered(person)
    assert ("The model:" in page.locator("#toast").inner_text()) is (when == "after"), "as it is stored"
    assert guess_of(person, first) == OLD | {"shown": when}


def test_what_is_hidden_is_stored_as_hidden_with_the_newest_guess(table):  # noqa: F811
    person = table()
    a_newer_model(person.service)
    image = answered(person)
    assert guess_of(person, image) == NEW | {"shown": "hidden"}
    assert list(person.service.history.doubtful) == [image], "a second look needs no guess that was seen"


def test_before_the_first_model_nothing_was_seen_whatever_is_set(table):  # noqa: F811
    person = table()
    person.service.guesses = None
    with person.page.expect_response("**/api/next"):
        person.page.select_option("#when", "before")
    answered(person)
    assert person.page.locator("#guess").is_hidden()
    a_newer_model(person.service)
    assert guess_of(person, answered(person)) == NEW | {"shown": "hidden"}


def test_a_guess_that_was_told_after_an_answer_is_seen_before_the_next_one_on_that_image(table):  # noqa: F811
    person = table()
    page = person.page
    shown(person, "after")
    image = answered(person, "2")
    assert guess_of(person, image) == OLD | {"shown": "after"}
    page.keyboard.press("Backspace")
    page.wait_for_function("id => document.querySelector('#frame img').src.endsWith(id)", arg=image)
    assert answered(person) == image
    assert guess_of(person, image) == OLD | {"shown": "before"}


def test_a_grid_is_stored_with_the_guess_that_it_was_made_of(table):  # noqa: F811
    person = table()
    page = person.page
    cells = grid(person)
    page.locator(".cell").nth(4).click()
    a_newer_model(person.service)
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#toast').textContent.startsWith('8 ×')")
    for image in cells[:4] + cells[5:]:
        assert guess_of(person, image) == OLD | {"shown": "before"}
    assert list(person.service.history.doubtful) == []
    page.locator("#grid-leave").click()
    page.wait_for_function("id => document.querySelector('#frame img')?.src.endsWith(id)", arg=cells[4])
    person.seen()
    assert answered(person, "3") == cells[4]
    assert guess_of(person, cells[4]) == OLD | {"shown": "before"}, "the grid had said it"
