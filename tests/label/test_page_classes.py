"""The view of the classes in a real browser: names, keys, guidance, order, merging and deleting."""

import pytest

from label.test_page_accessible import violations
from label.test_page_keys import MANY, table  # noqa: F401
from versionspace.label.messages import Answer

pytestmark = pytest.mark.slow

PHONE = {"viewport": {"width": 390, "height": 844}}


def settings(person):
    person.page.locator("#to-settings").click()
    person.page.wait_for_selector("#settings-rows li")
    return person.page


def field(page, name, part):
    return page.locator(f"[data-part={part}][data-name='{name}']")


def write(page, name, part, text):
    field(page, name, part).fill(text)
    with page.expect_response("**/api/class/*"):
        page.keyboard.press("Enter")


def given(person, *names):
    images = person.service.covering.ids[: len(names)]
    for number, (image, name) in enumerate(zip(images, names, strict=True)):
        person.service.answer("script", "anna", [Answer(f"label-{number:04d}", "class", image, name)])
    return images


def names(page):
    return page.locator("#classes .class").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")


def test_names_keys_and_guidance_are_changed_and_used(table):  # noqa: F811
    person = table()
    image = given(person, "1")[0]
    page = settings(person)
    write(page, "1", "rename", "one")
    page.wait_for_selector("[data-part=rename][data-name=one]")
    write(page, "one", "key", "q")
    page.wait_for_function("() => document.querySelector('[data-name=one][data-part=key]').value === 'q'")
    write(page, "one", "guidance", "with or without a foot")
    page.wait_for_function("() => document.querySelector('.class .guidance')")
    assert person.service.state.labels[image].name == "one"
    page.keyboard.press("Escape")
    person.seen()
    assert "with or without a foot" in page.locator(".class").nth(1).inner_text()
    shown = person.image()
    page.keyboard.press("q")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=shown)
    person.settled()
    assert person.service.state.labels[shown].name == "one"


def test_the_order_is_changed_by_keyboard_and_the_digits_follow(table):  # noqa: F811
    person = table()
    page = settings(person)
    field(page, "2", "up").focus()
    with page.expect_response("**/api/class/order"):
        page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#settings-rows .rename')[1].value === '2'")
    assert page.evaluate("document.activeElement.dataset.name") == "2", "the focus stays on the class that moves"
    page.keyboard.press("Escape")
    assert names(page) == ["0", "2", "1"]
    shown = person.image()
    page.keyboard.press("2")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=shown)
    person.settled()
    assert person.service.state.labels[shown].name == "2"
    assert person.service.state.classes == ["0", "1", "2"], "the outputs of a model keep their order"


def test_what_deleting_and_merging_do_is_said_before(table):  # noqa: F811
    person = table()
    images = given(person, "1", "1", "2")
    page = settings(person)
    field(page, "1", "delete").click()
    page.wait_for_selector("#confirm[open]")
    assert "Its 2 labels no longer count: the images are asked again" in page.locator("#confirm-text").inner_text()
    page.locator("#confirm-cancel").click()
    assert person.service.state.classes == ["0", "1", "2"]
    field(page, "2", "merge").click()
    page.wait_for_selector("#confirm[open]")
    page.select_option("#confirm-into", "1")
    assert "Its label becomes “1”" in page.locator("#confirm-text").inner_text()
    page.locator("#confirm-do").click()
    page.wait_for_selector("#confirm:not([open])", state="attached")
    assert person.service.state.labels[images[2]].name == "1"
    assert person.service.state.classes == ["0", "1"]
    person.service.edit_classes(lambda campaign: campaign.add_class("3"))
    page.wait_for_selector("[data-part=delete][data-name='3']")
    field(page, "1", "delete").click()
    page.wait_for_selector("#confirm[open]")
    person.service.answer("other", "ben", [Answer("meanwhile", "class", person.service.covering.ids[5], "1")])
    page.locator("#confirm-do").click()
    page.wait_for_function("() => document.querySelector('#confirm-trouble').textContent")
    assert "more were given since" in page.locator("#confirm-trouble").inner_text()
    page.locator("#confirm-cancel").click()
    field(page, "1", "delete").click()
    page.wait_for_selector("#confirm[open]")
    page.locator("#confirm-do").click()
    page.wait_for_selector("#confirm:not([open])", state="attached")
    assert set(person.service.history.returned) == {*images, person.service.covering.ids[5]}


def test_a_name_or_key_that_exists_is_refused_with_a_sentence(table):  # noqa: F811
    person = table(classes=("Cat", "dog", "stop sign"))
    page = settings(person)
    write(page, "dog", "rename", " cat")
    page.wait_for_function(
        "() => /exists already as “Cat”/.test(document.querySelector('#settings-trouble').textContent)"
    )
    page.wait_for_function("() => document.querySelector('[data-part=rename][data-name=dog]').value === 'dog'")
    write(page, "dog", "key", "u")
    page.wait_for_function("() => /uses for a command/.test(document.querySelector('#settings-trouble').textContent)")
    page.locator("#settings-add").click()
    page.locator("#class-name").fill("Stop  Sign")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#class-trouble').textContent")
    assert "exists already as “stop sign”" in page.locator("#class-trouble").inner_text()
    page.locator("#class-name").fill("dog")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => /“dog”, which exists already/.test(document.querySelector('#class-trouble').textContent)"
    )
    assert person.service.state.classes == ["Cat", "dog", "stop sign"]


def test_a_class_renamed_by_somebody_else_while_one_answers(table):  # noqa: F811
    """The page's list is a moment old: the answer counts for the class that the person meant."""
    person = table()
    page, image = person.page, person.image()
    page.route("**/api/status*", lambda route: route.abort())
    person.service.edit_classes(lambda campaign: campaign.rename_class("1", "one"))
    page.keyboard.press("2")
    person.settled()
    assert person.service.state.labels[image].name == "one"


def test_with_many_classes_a_key_follows_a_full_stop(table):  # noqa: F811
    person = table(classes=MANY)
    person.service.edit_classes(lambda campaign: campaign.describe_class("panda", key="q"))
    page = person.page
    page.wait_for_function("() => [...document.querySelectorAll('.class kbd')].some(k => k.textContent === '. q')")
    page.keyboard.press("q")
    assert page.locator("#find").input_value() == "q", "a letter types a name"
    page.keyboard.press("Escape")
    shown = person.image()
    page.keyboard.press(".")
    page.keyboard.press("q")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=shown)
    person.settled()
    assert person.service.state.labels[shown].name == "panda"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("options", [{}, PHONE], ids=["wide", "phone"])
def test_axe_finds_nothing(table, scheme, options):  # noqa: F811
    person = table(color_scheme=scheme, **options)
    given(person, "1", "2")
    page = settings(person)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    field(page, "1", "merge").click()
    page.wait_for_selector("#confirm[open]")
    assert violations(page) == []
