"""Keys in a real browser: none of them stores an answer that nobody gave, and none that was given is lost."""

from contextlib import ExitStack

import numpy as np
import pytest

from label.conftest import Folder, Home
from label.test_page import Person
from versionspace.campaign.campaign import Campaign
from versionspace.label.messages import Guesses
from versionspace.label.service import LabelService

pytestmark = pytest.mark.slow

READY = '#grid-confirm[aria-disabled="false"]'
LOADED = "() => [...document.querySelectorAll('.cell img')].every(i => i.complete && i.naturalWidth)"
MANY = ("ant", "bee", "cat", "dog", "eel", "fox", "hen", "ibex", "jay", "kite", "umbrella", "xylophone", "goose",
        "zebra", "newt", "panda")  # fmt: skip


@pytest.fixture
def table(browser, tmp_path, monkeypatch):
    """Opens the page of a new campaign on 200 images; a model that takes all of them for the first class is there."""
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path / "cache"))
    with ExitStack() as stack:

        def opened(classes=("0", "1", "2"), query="", clock=False, **options):
            folder = Folder(tmp_path, 200, 10)
            folder.classes = classes
            service = LabelService(stack.enter_context(Campaign.open(folder.campaign(150))))
            service.truth, service.photos = folder.truth, folder.photos
            size = len(service.pool)
            votes = {"majority": np.zeros(size, np.int32), "agreement": np.full(size, 0.9, np.float32)}
            service.guesses = Guesses.of(1, classes, ids=service.pool, **votes)
            home = stack.enter_context(Home(service))
            context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
            stack.callback(context.close)
            page = context.new_page()
            if clock:
                page.clock.install()
            person = Person(page, home, classes)
            person.service = service
            people.append(person)
            return person.open(query)

        people = []
        yield opened
        assert [error for person in people for error in person.errors] == []


def fetched_ahead(page):
    """Until the single images are there: whatever is asked for from now on is the grid's."""
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').filter(e => /image/.test(e.name)).length >= 5"
    )


def grid(person):
    """Opens it; all its images have been on the screen for a moment."""
    page = person.page
    page.locator("#to-grid").click()
    page.wait_for_selector("#grid:not([hidden]) .cell")
    page.wait_for_selector(READY)
    assert page.evaluate(LOADED)
    return page.locator(".cell img").evaluate_all("all => all.map(i => i.src.split('/').pop())")


def stored(person):
    """Answers in the order they came: the class, or why there is none."""
    person.settled()
    return [given.name or given.reason for given in person.service.history.answers]


def test_enter_on_another_button_does_what_that_button_does(table):
    person = table()
    page = person.page
    grid(person)
    page.locator("#grid-leave").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#grid", state="hidden")
    assert stored(person) == []
    grid(person)
    page.locator("#to-keys").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#keys[open]")
    page.keyboard.press("Escape")
    page.locator(".class").nth(1).focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#toast').textContent.includes('none that may')")
    assert stored(person) == []


@pytest.mark.parametrize("place", [".cell:nth-child(4)", "#grid-confirm", "body"])
def test_enter_on_a_cell_on_confirm_or_on_nothing_confirms_once(table, place):
    person = table()
    page = person.page
    cells = grid(person)
    page.evaluate("place => place === 'body' ? document.activeElement.blur() : document.querySelector(place).focus()",
                  place)  # fmt: skip
    page.keyboard.press("Enter")
    page.wait_for_function("id => !document.querySelector('.cell img').src.endsWith(id)", arg=cells[0])
    assert stored(person) == ["0"] * 9


@pytest.mark.parametrize("place", [".cell", "#grid-confirm"])
def test_a_held_enter_confirms_no_grid_that_nobody_has_seen(table, place):
    person = table()
    page = person.page
    grid(person)
    page.locator(place).first.focus()
    for _ in range(30):
        page.keyboard.down("Enter")
        page.wait_for_timeout(33)
    page.keyboard.up("Enter")
    assert stored(person) == ["0"] * 9


@pytest.mark.parametrize("place", [".cell", "#grid-confirm"])
def test_two_quick_enters_confirm_the_one_grid_that_was_looked_at(table, place):
    person = table(clock=True)
    page = person.page
    before = grid(person)
    page.locator(place).first.focus()
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 5)  # however slow this machine is
    page.keyboard.press("Enter")
    page.wait_for_function("id => !document.querySelector('.cell img').src.endsWith(id)", arg=before[0])
    page.wait_for_function(LOADED)
    for passed in (180, 180, 180):
        page.clock.run_for(passed)
        page.keyboard.press("Enter")
        assert stored(person) == ["0"] * 9
        assert page.locator("#grid-confirm").get_attribute("aria-disabled") == "true"
    assert page.evaluate("() => document.activeElement.matches('.cell')"), "the keyboard is where it was"
    page.clock.run_for(180)
    assert page.locator(READY).count() == 1
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('.cell').length === 9")
    assert stored(person) == ["0"] * 18, "after a look Enter confirms"


def test_a_double_click_on_confirm_confirms_the_one_grid_that_was_looked_at(table):
    person = table()
    page = person.page
    grid(person)
    page.locator("#grid-confirm").dblclick(delay=60)
    page.wait_for_timeout(300)
    assert stored(person) == ["0"] * 9
    page.locator("#grid-confirm").click()  # waits until it can be pressed
    assert stored(person) == ["0"] * 18


def test_the_look_at_a_grid_begins_with_the_last_of_its_images(table):
    person = table(clock=True)
    page, held = person.page, []
    page.wait_for_load_state("networkidle")
    page.route("**/image/*", lambda route: route.continue_() if held else held.append(route))
    page.locator("#to-grid").click()
    page.wait_for_function("() => [...document.querySelectorAll('.cell img')].filter(i => i.naturalWidth).length === 8")
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 5)
    assert page.locator("#grid-confirm").get_attribute("aria-disabled") == "true"
    assert page.locator("#grid-confirm").get_attribute("disabled") is None, "it would lose the focus"
    page.locator("#grid-confirm").focus()
    held[0].continue_()
    page.wait_for_function(LOADED)
    page.clock.run_for(650)
    page.keyboard.press("Enter")
    assert stored(person) == []
    page.clock.run_for(100)
    assert page.evaluate("() => document.activeElement.matches('#grid-confirm[aria-disabled=\"false\"]')")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#toast').textContent.startsWith('9 ×')")
    assert stored(person) == ["0"] * 9


def test_a_grid_of_another_class_is_asked_for_and_enter_no_longer_confirms_the_old_one(table):
    person = table(MANY)
    page, held = person.page, []
    grid(person)
    page.route("**/api/grid", lambda route: route.continue_() if held else held.append(route))
    page.keyboard.type("bee")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_timeout(150)
    assert stored(person) == []
    held[0].continue_()
    page.wait_for_function("() => document.querySelector('#toast').textContent.includes('none that may')")
    page.wait_for_selector(READY)
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#toast').textContent.startsWith('9 ×')")
    assert stored(person) == ["ant"] * 9, "there is no other: the old one is still there"


def test_grids_that_are_leafed_through_are_not_asked_and_leave_room_for_what_the_tab_has(table):
    person = table(tuple("0123456789"))
    page, service = person.page, person.service
    fetched_ahead(page)
    service.set_budget(12)
    asked = set(service.state.places)
    shown = grid(person)
    assert len(shown) == 12 - 5, "five are there one by one"
    page.locator("#grid-side").select_option("5")
    page.wait_for_timeout(300)
    page.locator("#grid-leave").click()
    page.wait_for_selector("#grid", state="hidden")
    page.wait_for_timeout(300)
    assert grid(person) == shown[:6], "one more is there one by one"
    assert len(set(service.state.places) - asked) <= 1
    page.keyboard.press("Enter")
    page.wait_for_selector("#grid", state="hidden")
    assert stored(person) == ["0"] * 6
    person.label(6)
    page.wait_for_selector("#finished:not([hidden])")
    assert service.spent() == 12


def test_a_grid_that_is_left_while_another_is_on_its_way_is_left(table):
    person = table(tuple("0123456789"))
    page, held = person.page, []
    fetched_ahead(page)
    person.service.set_budget(12)
    grid(person)
    page.route("**/api/grid", lambda route: route.continue_() if held else held.append(route))
    page.keyboard.press("1")
    page.keyboard.press("g")
    page.wait_for_selector("#grid", state="hidden")
    with page.expect_response("**/api/grid"), page.expect_response("**/api/next"):
        held[0].continue_()
    page.wait_for_timeout(200)
    assert page.locator("#grid").is_hidden()
    assert len(person.service.leases.held()) <= 6, "the tab has nothing that it does not show"
    person.label(12)
    page.wait_for_selector("#finished:not([hidden])")
    assert person.service.spent() == 12


def test_of_two_grids_on_their_way_the_one_that_was_asked_for_last_is_shown(table):
    person = table()
    page, held = person.page, []
    size = len(person.service.pool)
    votes = {"majority": np.arange(size, dtype=np.int32) % 2, "agreement": np.full(size, 0.9, np.float32)}
    person.service.guesses = Guesses.of(1, ("0", "1", "2"), ids=person.service.pool, **votes)
    grid(person)
    page.route("**/api/grid", lambda route: route.continue_() if held else held.append(route))
    with page.expect_request("**/api/grid"):
        page.keyboard.press("2")
    while not held:
        page.wait_for_timeout(20)
    with page.expect_response("**/api/grid"):
        page.keyboard.press("1")
    with page.expect_response("**/api/grid"):
        held[0].continue_()
    page.wait_for_selector(READY)
    assert page.locator("#grid-question strong").inner_text() == "0"
    held.clear()
    page.keyboard.press("Enter")
    page.keyboard.press("3")  # there is none of it, and the next of this class is not wanted any more
    page.wait_for_selector("#grid", state="hidden")
    assert "none that may" in page.locator("#toast").inner_text()
    held[0].continue_()
    page.wait_for_timeout(200)
    assert page.locator("#grid").is_hidden()
    assert stored(person) == ["0"] * 9


def test_a_held_enter_on_a_class_answers_one_image(table):
    person = table()
    page = person.page
    page.locator(".class").nth(1).focus()
    for _ in range(20):
        page.keyboard.down("Enter")
        page.wait_for_timeout(33)
    page.keyboard.up("Enter")
    assert stored(person) == ["1"]


def test_a_grid_is_confirmed_only_when_all_of_it_is_on_the_screen(table):
    person = table()
    page, held = person.page, []
    fetched_ahead(page)
    page.route("**/image/*", lambda route: held.append(route) if len(held) < 2 else route.continue_())
    page.locator("#to-grid").click()
    page.wait_for_selector("#grid:not([hidden]) .cell")
    page.wait_for_function("() => [...document.querySelectorAll('.cell img')].filter(i => i.naturalWidth).length === 7")
    page.keyboard.press("Enter")
    assert "2 images are still loading" in page.locator("#toast").inner_text()
    assert stored(person) == []
    page.evaluate("() => [...document.querySelectorAll('.cell')].find(c => !c.firstChild.naturalWidth).click()")
    page.keyboard.press("Enter")
    assert "An image is still loading" in page.locator("#toast").inner_text()
    for route in held:
        route.continue_()
    page.wait_for_selector(READY)
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#toast').textContent.startsWith('8 ×')")
    assert stored(person) == ["0"] * 8


def test_an_image_that_the_grid_cannot_show_comes_one_by_one_and_has_no_label_before(table):
    person = table()
    page, cut = person.page, []
    fetched_ahead(page)

    def once(route):
        if cut:
            route.continue_()
        else:
            cut.append(route.request.url.rpartition("/")[2])
            route.abort()

    page.route("**/image/*", once)
    page.locator("#to-grid").click()
    page.wait_for_selector('.cell[aria-pressed="true"]')
    page.wait_for_function("() => [...document.querySelectorAll('.cell img')].filter(i => i.naturalWidth).length === 8")
    page.wait_for_selector(READY)
    page.locator('.cell[aria-pressed="true"]').click()
    assert "cannot be displayed" in page.locator("#toast").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#toast').textContent.startsWith('8 ×')")
    assert stored(person) == ["0"] * 8
    assert cut[0] not in person.service.state.labels
    page.locator("#grid-leave").click()
    page.wait_for_function("id => document.querySelector('#frame img')?.src.endsWith(id)", arg=cut[0])


def test_undo_takes_back_the_last_answer_though_an_older_list_of_answers_comes_late(table):
    person = table()
    page, held = person.page, []
    first = person.image()
    page.keyboard.press("1")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=first)
    assert stored(person) == ["0"]
    page.wait_for_timeout(500)
    page.route("**/api/status*", lambda route: held.append((route, None if held else route.fetch())))
    while not held:
        page.wait_for_timeout(50)
    person.seen()
    last = person.image()
    page.keyboard.press("2")
    assert stored(person) == ["0", "1"]
    route, old = held[0]
    with page.expect_response("**/api/status*"):
        route.fulfill(response=old)
    page.wait_for_timeout(150)
    assert page.locator("#rail button").count() == 2
    page.keyboard.press("Backspace")
    page.wait_for_function("id => document.querySelector('#frame img').src.endsWith(id)", arg=last)
    person.settled()
    assert {image: given.name for image, given in person.service.history.current.items()} == {first: "0"}
    page.unroute("**/api/status*")


@pytest.mark.parametrize("name", ["umbrella", "Xylophone", "goose", "zebra", "newt", "PANDA"])
def test_typing_a_name_stores_that_class_and_nothing_else(table, name):
    person = table(MANY)
    page, first = person.page, person.image()
    for letter in name:
        page.keyboard.press(f"Shift+{letter}" if letter.isupper() else letter)
    assert page.locator("#find").input_value() == name
    assert stored(person) == []
    assert page.locator("dialog[open]").count() == 0
    page.keyboard.press("Enter")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=first)
    assert stored(person) == [name.lower()]
    person.seen()
    page.keyboard.press("Backspace")
    page.wait_for_function("id => document.querySelector('#frame img').src.endsWith(id)", arg=first)
    person.settled()
    assert person.service.state.labels[first].name is None, "undo takes it back"


ALIKE = ("caterpillar", "bobcat", "Cat", "cat", "catfish", "two cats", "dog", "eel", "fox", "hen", "ibex", "jay")


@pytest.mark.parametrize(("keys", "meant"), [
    ("cat", "cat"), ("Cat", "Cat"), ("CAT", "Cat"), ("cate", "caterpillar"), ("ca", "caterpillar"), ("bob", "bobcat"),
    (("c", "ArrowDown", "a", "t"), "cat"), (("c", "a", "t", "ArrowDown"), "Cat"),
    (("c", "a", "t", "ArrowDown", "ArrowDown", "ArrowDown"), "catfish"),
    (("c", "a", "t", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown"), "bobcat"),
])  # fmt: skip
def test_a_whole_name_comes_before_longer_ones_that_are_listed_first(table, keys, meant):
    person = table(ALIKE)
    page, first = person.page, person.image()
    for key in keys:
        page.keyboard.press(f"Shift+{key}" if key.isupper() else key)
    assert page.locator(".class.marked .name").all_inner_texts() == [meant]
    page.keyboard.press("Enter")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=first)
    assert stored(person) == [meant]


@pytest.mark.parametrize("sign", [{"isComposing": True}, {"keyCode": 229}])
def test_enter_that_ends_a_word_of_an_input_method_neither_stores_nor_adds_a_class(table, sign):
    person = table(("犬", "猫", *MANY))
    page, first = person.page, person.image()
    enter = """([id, sign]) => document.getElementById(id).dispatchEvent(
        new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...sign }))"""
    page.keyboard.press("/")
    page.keyboard.insert_text("犬")
    assert page.evaluate(enter, ["find", sign]), "the key is the input method's"
    assert page.locator("#find").input_value() == "犬"
    page.keyboard.press("Enter")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=first)
    assert stored(person) == ["犬"]
    page.keyboard.press(".")
    page.keyboard.press("n")
    page.wait_for_selector("#adding[open]")
    page.keyboard.insert_text("いぬ")
    page.evaluate(enter, ["class-name", sign])
    page.wait_for_timeout(300)
    assert page.locator("#adding[open]").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_selector("#adding", state="hidden")
    assert person.service.state.classes == ["犬", "猫", *MANY, "いぬ"]


def test_commands_come_after_a_full_stop_where_letters_type_names(table):
    person = table(MANY)
    page = person.page
    assert page.locator('[data-kind="unsure"] kbd').inner_text() == ". U"
    assert page.locator("#grid-leave kbd").text_content() == ". G"
    for key in ("u", "Shift+X"):
        image = person.image()
        page.keyboard.press(".")
        page.keyboard.press(key)
        page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=image)
        person.seen()
    assert stored(person) == ["unsure", "bad image"]
    page.keyboard.press(".")
    page.keyboard.press("z")
    page.wait_for_selector("#frame.zoomed")
    page.keyboard.press(".")
    page.keyboard.press("g")
    page.wait_for_selector("#grid:not([hidden])")
    page.keyboard.press(".")
    page.keyboard.press("g")
    page.wait_for_selector("#grid", state="hidden")
    page.keyboard.press(".")
    page.keyboard.press("n")
    page.wait_for_selector("#adding[open]")
    page.keyboard.press("Escape")
    page.keyboard.press(".")
    page.wait_for_timeout(2700)  # it is forgotten
    page.keyboard.press("u")
    assert page.locator("#find").input_value() == "u"
    page.keyboard.press("Escape")
    page.keyboard.press(".")
    page.keyboard.press("z")
    page.keyboard.press("x")  # it is for one letter
    assert page.locator("#find").input_value() == "x"
    page.keyboard.press("Escape")
    assert stored(person) == ["unsure", "bad image"]


def test_letters_are_commands_while_digits_reach_every_class_and_change_with_the_eleventh(table):
    person = table(MANY[:10])
    page, image = person.page, person.image()
    assert page.locator('[data-kind="unsure"] kbd').inner_text() == "U"
    page.keyboard.press("u")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=image)
    person.seen()
    page.keyboard.press("n")
    page.keyboard.type("urchin")
    page.keyboard.press("Enter")
    page.wait_for_selector("#adding", state="hidden")
    page.wait_for_function("() => document.querySelector('[data-kind=unsure] kbd').textContent === '. U'")
    page.keyboard.press("u")
    page.wait_for_function("() => document.querySelector('#find').value === 'u'")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#rail button').length === 2")
    assert stored(person) == ["unsure", "urchin"]


LONG = "Setophaga coronata (yellow-rumped warbler), adult male, breeding plumage"


def test_a_class_with_a_long_name_or_a_tab_in_it_is_answered_after_a_weekend(table):
    person = table((LONG, "with\ttab"), query="&as=" + "x" * 39 + "%F0%9F%98%80tail", clock=True)
    page = person.page
    for key in ("1", "2"):
        image = person.image()
        page.clock.fast_forward(72 * 3600 * 1000)
        page.keyboard.press(key)
        page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=image)
        person.seen()
    assert stored(person) == [LONG, "with\ttab"]
    given = person.service.history.answers
    assert [g.details["seconds"] for g in given] == [86400, 86400]
    assert {g.who for g in given} == {"x" * 39 + "\U0001f600"}
