"""The review: rows by filter, what the audit says about each class, and what relabelling stores."""

import time

import numpy as np
import pytest

from label.test_class_edits import edit, give, train
from versionspace.label.messages import Answer, Guesses
from versionspace.label.review import ReviewFilter, audit_review, earlier_answers, review_page


@pytest.fixture
def reviewed(service):
    """Six labels, three answers without a class, and a model that says 1 to everything."""
    service.one = give(service, "1", 3)
    service.zero = give(service, "0", 3, who="ben")
    for number, kind in enumerate(["unsure", "bad", "skip"]):
        image = service.next_questions("tab", "anna", (), 1).questions[0].image
        service.answer("tab", "anna", [Answer(f"no-class-{number}", kind, image)])
    train(service, majority=1)
    return service


def images(service, **wanted):
    return [row.image for row in review_page(service, ReviewFilter(**wanted)).rows]


def test_every_filter_shows_what_its_name_says(reviewed):
    assert len(images(reviewed)) == 9
    assert set(images(reviewed, name="1")) == set(reviewed.one)
    assert set(images(reviewed, who="ben")) == set(reviewed.zero)
    trained = [image for image in reviewed.zero if image not in reviewed.asks.audit_images]
    assert set(images(reviewed, show="differs")) == set(trained)
    assert set(images(reviewed, show="mistakes")) == set(reviewed.zero) - set(trained)
    assert set(images(reviewed, guess="1", name="0")) == set(reviewed.zero)
    for show, reason in (("unsure", "unsure"), ("bad", "bad image"), ("skipped", "skipped")):
        rows = review_page(reviewed, ReviewFilter(show=show)).rows
        assert [row.answer.reason for row in rows] == [reason]
    counts = review_page(reviewed, ReviewFilter(show="bad")).counts
    assert {show: len(images(reviewed, show=show)) for show in counts} == counts
    assert review_page(reviewed, ReviewFilter()).people == ["anna", "ben"]


def test_a_label_against_a_confident_guess_is_doubtful_until_somebody_has_looked(reviewed):
    image = give(reviewed, "2")[0]
    assert images(reviewed, show="doubt") == [image]
    kept = Answer("kept-label", "class", image, "2", second_look=True, review=True)
    reviewed.answer("tab", "ben", [kept])
    assert images(reviewed, show="doubt") == []
    row = review_page(reviewed, ReviewFilter(name="2")).rows[0]
    assert row.checked
    assert reviewed.state.labels[image].details["review"] is True
    assert [(a.name, a.who) for a in earlier_answers(reviewed, image)] == [("2", "ben"), ("2", "anna")]


def test_pages_do_not_overlap_and_one_past_the_end_is_the_last(reviewed):
    pages = [images(reviewed, offset=offset, limit=4) for offset in (0, 4, 8)]
    assert [len(page) for page in pages] == [4, 4, 1]
    assert sorted(image for page in pages for image in page) == sorted(images(reviewed))
    past = review_page(reviewed, ReviewFilter(offset=400, limit=4))
    assert (past.offset, [row.image for row in past.rows]) == (8, pages[2])


def test_accuracy_per_class_counts_audit_images_only(service):
    assert audit_review(service).round == 0
    audit = service.asks.of_audit()
    truth = ["0", "0", "1", "1", "1", "2"]
    guess = dict(zip(audit, [0, 1, 1, 1, 1, 1], strict=False))
    give(service, "0", 2)
    majority = np.array([guess.get(image, 2) for image in service.pool])
    service.guesses = Guesses.of(1, ["0", "1", "2"], majority, np.ones(len(majority), np.float32), service.pool)
    given = [image for image in audit if image not in service.history.current]
    for image, name in zip(audit, truth, strict=False):
        service.campaign.accept({image: name})
    found = audit_review(service)
    assert (found.images, found.right, found.waiting) == (6, 4, len(given) - 6)
    rows = {one.name: (one.right, one.images, one.guessed) for one in found.classes}
    assert rows == {"0": (1, 2, 1), "1": (3, 3, 5), "2": (0, 1, 0)}
    assert found.cells == {("0", "0"): 1, ("0", "1"): 1, ("1", "1"): 3, ("2", "1"): 1}
    one = next(one for one in found.classes if one.name == "1")
    assert one.low == pytest.approx(0.025 ** (1 / 3))
    assert one.high == 1.0
    edit(service, "merge_classes", "2", "1")
    assert audit_review(service).cells == {("0", "0"): 1, ("0", "1"): 1, ("1", "1"): 4}
    edit(service, "add_class", "3")
    edit(service, "delete_class", "0")
    assert audit_review(service).cells == {("1", "1"): 4}


def test_the_review_of_five_thousand_labels_is_read_at_once(reviewed):
    record = next(iter(reviewed.history.current.values()))
    for number in range(5000):
        reviewed.history.current[f"image-{number}"] = record
    start = time.perf_counter()
    page = review_page(reviewed, ReviewFilter(show="differs"))
    assert page.counts["all"] == 5009
    assert time.perf_counter() - start < 5, "it hangs"
