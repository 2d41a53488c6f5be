"""What a person sees: names that can be told apart, an image that keeps its size, a phone held in one hand."""

import pytest

from label.test_page_accessible import PHONE, WIDE, violations
from label.test_page_keys import stored, table  # noqa: F401

pytestmark = pytest.mark.slow

SPEEDS = tuple(f"Speed limit ({speed}km/h)" for speed in (20, 30, 50, 60, 70, 80, 100, 120))
SIGNS = (
    *SPEEDS, "End of speed limit (80km/h)", "No passing", "No passing for vehicles over 3.5 metric tons",
    "Right-of-way at the next intersection", "Priority road", "Yield", "Stop", "No vehicles",
    "Vehicles over 3.5 metric tons prohibited", "No entry", "General caution", "Dangerous curve to the left",
    "Dangerous curve to the right", "Double curve", "Bumpy road", "Slippery road", "Road narrows on the right",
    "Road work", "Traffic signals", "Pedestrians", "Children crossing", "Bicycles crossing", "Beware of ice/snow",
    "Wild animals crossing", "End of all speed and passing limits", "Turn right ahead", "Turn left ahead", "Ahead only",
    "Go straight or right", "Go straight or left", "Keep right", "Keep left", "Roundabout mandatory",
    "End of no passing", "End of no passing by vehicles over 3.5 metric tons",
)  # fmt: skip
assert len(SIGNS) == 43
LOW = {"width": 1280, "height": 600}
CUT = """() => [...document.querySelectorAll('.class')].filter(made => {
  const [name, box] = [made.querySelector('.name'), made.getBoundingClientRect()];
  const range = document.createRange();
  range.selectNodeContents(name);
  const text = range.getBoundingClientRect();
  return getComputedStyle(name).textOverflow === 'ellipsis' || text.left < box.left || text.right > box.right
    || text.top < box.top - 1 || text.bottom > box.bottom + 1;
}).map(made => made.title)"""
BOX = """selector => {
   const b = document.querySelector(selector).getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }"""


def box(page, selector):
    return page.evaluate(BOX, selector)


def status(page, **changes):
    """Change what the server says from now on, and wait until the page shows it."""

    def changed(route):
        found = route.fetch()
        route.fulfill(response=found, json=found.json() | page.said)

    if not hasattr(page, "said"):
        page.route("**/api/status*", changed)
    page.said = changes
    with page.expect_response("**/api/status*"):
        page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(100)


@pytest.mark.parametrize("viewport", [WIDE, LOW, PHONE], ids=["wide", "low", "phone"])
@pytest.mark.parametrize("count", [3, 12, 43])
def test_no_name_is_cut(table, viewport, count):  # noqa: F811
    page = table(SIGNS[-count:], viewport=viewport).page
    assert page.locator(".class .name").all_inner_texts() == list(SIGNS[-count:])
    assert page.evaluate(CUT) == []
    assert page.locator(".class").evaluate_all("all => all.map(made => made.title)") == list(SIGNS[-count:])
    assert page.get_by_role("button", name=SIGNS[-1], exact=True).count() == 1, "a screen reader says the whole name"


def test_43_classes_are_all_on_the_screen_beside_the_image(table):  # noqa: F811
    page = table(SIGNS).page
    bottoms = page.locator(".class").evaluate_all("all => all.map(made => made.getBoundingClientRect().bottom)")
    assert max(bottoms) <= box(page, "footer")[1]
    _, _, width, height = box(page, "#frame")
    assert min(width, height) > 450


def test_short_names_have_small_buttons(table):  # noqa: F811
    page = table(tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")).page
    assert max(page.locator(".class").evaluate_all("all => all.map(made => made.offsetWidth)")) < 110
    assert box(page, "#frame")[2] > 600, "the image has what they do not need"


def test_on_a_phone_image_classes_and_actions_share_the_screen_and_the_panel_is_a_sheet(table):  # noqa: F811
    person = table(SIGNS, viewport=PHONE, has_touch=True)
    page = person.page
    assert page.evaluate("() => document.documentElement.scrollHeight <= innerHeight")
    for selector in ("#frame", "#classes", '[data-kind="skip"]', "#undo", "#new-class"):
        left, top, width, height = box(page, selector)
        assert (left >= 0, top >= 0, left + width <= 390, top + height <= 844) == (True,) * 4, selector
    assert min(box(page, "#frame")[2:]) > 250
    assert box(page, "#undo")[1] > 760, "where the thumb is"
    assert page.locator("#side").is_hidden()
    page.locator("#classes").evaluate("all => all.scrollTo(0, 9999)")
    page.locator(".class").last.tap()
    page.wait_for_selector("#rail button", state="attached")
    assert stored(person) == [SIGNS[-1]]
    before = box(page, "#frame")
    for close in ("#close-side", "#shade", "Escape"):
        page.locator("#to-side").tap()
        assert page.locator("#rail button").is_visible()
        assert box(page, "#side")[1] > 100, "the top of the page stays visible"
        assert box(page, "#frame") == before
        assert violations(page) == []
        if close == "Escape":
            page.keyboard.press(close)
        else:
            page.locator(close).tap(position={"x": 20, "y": 20})
        page.wait_for_selector("#side", state="hidden")
        assert page.locator("#to-side").get_attribute("aria-expanded") == "false"


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("count", [3, 43])
def test_the_image_keeps_its_place_and_size_whatever_is_typed_or_said(table, viewport, count):  # noqa: F811
    page = table(SIGNS[:count], viewport=viewport).page
    before = box(page, "#frame")
    if count > 10:
        for text in ("/", "s", "peed", " zzz"):
            page.keyboard.type(text)
            assert box(page, "#frame") == before, text
        assert page.locator("#no-match").is_visible()
        page.keyboard.press("Escape")
    for sentence in ("Short.", "A sentence of many words. " * 12):
        status(page, light={"colour": "amber", "sentence": sentence})
        assert page.locator("#light .why").text_content() == sentence
        assert box(page, "#frame") == before
    training = {"stage": "down", "share": 0.0, "round": 1, "trouble": "memory ran out " * 20, "retry": 12.0}
    status(page, training=training)
    assert page.locator("#trouble").is_visible()
    assert box(page, "#frame") == before


def test_digits_are_part_of_names_where_there_are_more_than_ten_classes(table):  # noqa: F811
    person = table(SIGNS)
    page, image = person.page, person.image()
    page.keyboard.type("80")
    assert page.locator(".class:visible .name").all_inner_texts() == [SPEEDS[5], "End of speed limit (80km/h)"]
    assert stored(person) == []
    page.keyboard.press("Enter")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=image)
    assert stored(person) == [SPEEDS[5]]
    assert page.locator(".class kbd").count() == 0


def test_what_digits_and_letters_do_is_a_setting_that_is_kept(table):  # noqa: F811
    person = table(SIGNS)
    page, image = person.page, person.image()
    page.select_option("#digits", "command")
    page.select_option("#letters", "command")
    assert page.locator(".class kbd").all_inner_texts() == [*"1234567890"]
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("3")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=image)
    page.reload()
    person.seen()
    assert page.locator('[data-kind="unsure"] kbd').inner_text() == "U"
    image = person.image()
    page.keyboard.press("u")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=image)
    assert stored(person) == [SPEEDS[2], "unsure"]
    page.keyboard.press("/")
    page.keyboard.type("yie")
    assert page.locator(".class:visible .name").all_inner_texts() == ["Yield"]


def test_few_classes_are_found_by_typing_if_that_is_set(table):  # noqa: F811
    person = table(("cat 1", "cat 2", "dog"))
    page, image = person.page, person.image()
    assert page.locator("#finder").is_hidden()
    page.select_option("#digits", "type")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("2")
    assert page.locator("#find").input_value() == "2"
    page.keyboard.press("Enter")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=image)
    assert stored(person) == ["cat 2"]


def test_a_name_without_a_match_is_offered_as_a_new_class(table):  # noqa: F811
    person = table(SIGNS)
    page, image = person.page, person.image()
    page.keyboard.type("tram 7")
    assert page.locator("#no-match p").inner_text() == "No class matches “tram 7”."
    assert "No class matches tram 7" in page.locator("#live").text_content()
    assert violations(page) == []
    page.keyboard.down("Enter")
    page.wait_for_selector("#adding[open]")
    page.keyboard.down("Enter")  # still held
    assert page.locator("#class-name").input_value() == "tram 7"
    page.wait_for_timeout(200)
    assert "tram 7" not in person.service.state.classes
    page.keyboard.up("Enter")
    page.keyboard.down("Enter")
    page.wait_for_selector("#adding", state="hidden")
    page.wait_for_function("() => document.querySelector('.class.marked .name')?.textContent === 'tram 7'")
    page.wait_for_function("() => document.activeElement.id === 'find'")
    page.keyboard.down("Enter")  # held again
    assert stored(person) == []
    page.keyboard.up("Enter")
    page.keyboard.press("Enter")
    page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=image)
    assert stored(person) == ["tram 7"]


def test_a_small_image_is_smoothed_and_a_key_shows_its_pixels(table):  # noqa: F811
    person = table()
    page = person.page
    rendering = "() => getComputedStyle(document.querySelector('#frame img')).imageRendering"
    page.wait_for_selector("#frame .tiny")
    assert page.evaluate(rendering) == "auto"
    assert max(box(page, "#frame img")[2:]) == 480, "8 × 8 pixels over the whole screen are no picture"
    page.keyboard.press("s")
    assert page.evaluate(rendering) == "pixelated"
    assert page.locator("#sharp").get_attribute("aria-pressed") == "true"
    page.reload()
    page.wait_for_selector("#frame .tiny")
    assert page.evaluate(rendering) == "pixelated", "it is a setting"
    page.locator("#sharp").click()
    assert page.evaluate(rendering) == "auto"
    assert stored(person) == []
