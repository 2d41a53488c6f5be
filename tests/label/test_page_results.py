"""The page at its end and before: results to download, the advised button, the accuracy that is wanted."""

import csv

import pytest

from label.serving import Client
from label.test_page import Person
from label.test_page_accessible import PHONE, WIDE, violations
from label.test_page_keys import table  # noqa: F401
from label.test_page_layout import status
from label.test_results import wait_for

pytestmark = pytest.mark.slow

IDLE = {"stage": "idle", "share": 0.0, "round": 0, "trouble": "", "retry": 0.0}


def test_results_are_prepared_and_downloaded_and_the_end_names_the_final_model(browser, served, tmp_path):
    client = Client(served)
    for _ in range(20):
        image = client.next()["tasks"][0]["image"]
        client.answer(image, served.truth[image])
    page = browser.new_page()
    Person(page, served).open()
    page.wait_for_function("() => /Round|model/.test(document.querySelector('#model').textContent)")
    page.keyboard.press("d")
    dialog = page.locator("#results")
    assert dialog.is_visible()
    prepare = dialog.get_by_role("button", name="Prepare: Predictions")
    page.wait_for_function("() => !document.querySelector('#files button')?.disabled")
    assert violations(page) == []
    prepare.click()
    with page.expect_download() as event:
        dialog.get_by_role("link", name="predictions.csv").click(timeout=60_000)
    event.value.save_as(tmp_path / "predictions.csv")
    rows = list(csv.DictReader((tmp_path / "predictions.csv").read_text().splitlines()))
    assert len(rows) == 120 - 20
    for name in ("labels.csv", "labels.json"):
        with page.expect_download() as event:
            dialog.get_by_role("link", name=name).click()
        assert event.value.suggested_filename == name
    dialog.locator("summary").click()
    assert f"versionspace export {served.folder} --predictions" in page.locator("#commands").inner_text()
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.goto("about:blank")  # another tab answers the images that were on this screen
    while tasks := client.next()["tasks"]:
        client.answer(tasks[0]["image"], served.truth[tasks[0]["image"]])
    page.goto(served.address)
    finished = page.locator("#finished")
    finished.get_by_text("The final model is trained on all 40 labels, including the 6 of the audit.").wait_for(
        timeout=60_000
    )
    assert violations(page) == []
    finished.get_by_role("button", name="Get the results").click()
    assert "The final model is trained on all 40 labels" in page.locator("#results-model").inner_text()
    client.close()


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_the_advice_is_a_button_and_moves_nothing(table, size):  # noqa: F811
    page = table(viewport=size).page
    frame = page.locator("#frame").bounding_box()
    for light, text in (
        ({"colour": "amber", "random": 11, "checking": 0}, "Label 11 random images"),
        ({"colour": "amber", "random": 0, "checking": 1}, "1 random image to go"),
        ({"colour": "green", "random": 0, "checking": 0}, "Results"),
    ):
        status(page, light={"sentence": "A sentence " * 11, "case": "done", **light}, training=IDLE)
        page.locator(f"#advised[aria-label='{text}']").wait_for()
        assert page.locator("#frame").bounding_box() == frame
        button, footer = page.locator("#advised").bounding_box(), page.locator("footer").bounding_box()
        assert button["y"] >= footer["y"]
        assert button["y"] + button["height"] <= footer["y"] + footer["height"] + 1
        assert button["x"] + button["width"] <= footer["width"]
        assert violations(page) == []
    page.locator("#advised").click()
    assert page.locator("#results").is_visible()


def test_random_images_and_the_target_are_set_on_the_page(browser, served):
    client = Client(served)
    for _ in range(16):
        image = client.next()["tasks"][0]["image"]
        client.answer(image, served.truth[image])
    page = browser.new_page()
    Person(page, served).open()
    wait_for(client, lambda found: found["round"])
    status(page, light={"colour": "amber", "sentence": "", "case": "unchecked", "random": 4, "checking": 0})
    page.get_by_role("button", name="Label 4 random images").click()
    page.get_by_text("The next 4 images are drawn at random").first.wait_for()
    assert client.status()["light"]["checking"] == 4
    page.locator("#target").select_option("0.95")
    wait_for(client, lambda found: found["target"] == 0.95)
    client.close()
