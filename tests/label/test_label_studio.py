"""Label Studio's JSON: every name comes back, and what is no label is never taken for one."""

import json

import numpy as np
import pytest

import versionspace as vs
from versionspace.campaign.round import proposal_event
from versionspace.errors import InputError
from versionspace.label.create import new_config
from versionspace.label.label_studio import tasks
from versionspace.store import read_campaign

ODD = ["a+b.png", "a&b.png", "a#1.png", "50%25.png", "50%.png", "a b.png", "a;b=c?d=e.png", "sub/a+b.png", "sub/é.png",
       "sub/%41.png", "sub/A.png", "100%.png"]  # fmt: skip
PREFIXES = ["", "/data/local-files/?d=photos/", "http://host:8080/files/", "s3://bucket/photos/"]


@pytest.fixture
def odd(folder):
    """The folder, some of its files under odd names."""
    (folder.photos / "sub").mkdir()
    for name, file in zip(ODD, sorted(folder.photos.glob("*.png")), strict=False):
        file.rename(folder.photos / name)
    return folder


def taken(folder, found, path):
    """Names by file, as an import of these tasks takes them."""
    path.write_text(json.dumps(found))
    _, names = new_config(folder.photos, folder.classes, budget=30, net="small", labels=path)
    dataset = vs.data.load(folder.photos, progress=False)
    by_id = dict(zip(dataset.train.ids.tolist(), dataset.train.files, strict=True))
    assert names.unknown == ()
    return {by_id[image]: name for image, name in names.names.items()}


def task(name="1", **data):
    return {"data": data, "annotations": [{"result": [{"value": {"choices": [name]}}]}]}


@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_name_survives_the_way_out_and_back(odd, tmp_path, prefix):
    with vs.label_folder(odd.photos, odd.classes, budget=100, net="small") as campaign:
        ids, files = campaign.dataset.train.ids.tolist(), campaign.dataset.train.files
        wanted = {i: f for i, f in zip(ids, files, strict=True) if f in ODD}
        labels = {i: str(n % 3) for n, i in enumerate(wanted)}
        campaign.commit([proposal_event(0, 0, "query", np.array(list(wanted)), np.zeros(len(wanted)))])
        campaign.accept(labels)
        out = tasks(read_campaign(campaign.folder), dict(zip(ids, files, strict=True)), prefix)
    expected = {wanted[i]: name for i, name in labels.items()}
    assert len(expected) == len(ODD)
    assert taken(odd, out, tmp_path / "out.json") == expected
    for one in out:
        del one["meta"]  # then the names alone must do; of two that quote to each other one is as good as the other
    plain = [one for one in out if not one["data"]["image"].endswith(("50%25.png", "%41.png"))]
    found = taken(odd, plain, tmp_path / "plain.json")
    assert found.items() <= expected.items()
    assert len(found) == len(plain)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_names_that_nobody_quoted_are_found(odd, tmp_path, prefix):
    written = [task(str(n % 3), image=prefix + file) for n, file in enumerate(ODD)]
    assert taken(odd, written, tmp_path / "x.json") == {file: str(n % 3) for n, file in enumerate(ODD)}


def test_an_image_elsewhere_whose_name_looks_quoted_is_not_taken_for_it(odd, tmp_path):
    (odd.photos / "other").mkdir()
    (odd.photos / "50%25.png").rename(odd.photos / "other/50%25.png")
    (odd.photos / "50%.png").rename(odd.photos / "sub/50%.png")
    found = taken(odd, [task(image="/data/local-files/?d=photos/sub/50%25.png")], tmp_path / "x.json")
    assert found == {"sub/50%.png": "1"}


def test_the_image_is_told_from_other_texts(odd, tmp_path):
    texts = {"caption": "a nice cat", "note": "http://[", "n": 3}
    first, other = task("2", **texts, image="a+b.png"), task("1", **texts, picture="/data/upload/1/0a1b2c3d-50%.png")
    assert taken(odd, [first, other], tmp_path / "x.json") == {"a+b.png": "2", "50%.png": "1"}
    misled = task("1", caption="100%.png", image="a+b.png")
    assert taken(odd, [misled], tmp_path / "x.json") == {"a+b.png": "1"}


@pytest.mark.parametrize("result", [
    [{"value": None}], [{"type": "relation"}], [None], None, [{"value": {"choices": []}}],
    [{"value": {"choices": None}}], [{"value": {"rectanglelabels": ["2"]}}],
])  # fmt: skip
def test_what_is_no_choice_is_no_label(odd, tmp_path, result):
    nothing = {"data": {"image": "a+b.png"}, "annotations": [{"result": result}]}
    assert taken(odd, [nothing, task(image="a#1.png")], tmp_path / "x.json") == {"a#1.png": "1"}


def annotated(*annotations, image="a+b.png"):
    """A task; each annotation as what was chosen for each of its questions."""
    results = [{"result": [{"value": {"choices": list(names)}} for names in questions]} for questions in annotations]
    return {"data": {"image": image}, "annotations": results}


@pytest.mark.parametrize("questions", [[["1", "2"]], [["1"], ["2"]], [["1", "2"], ["1"]]])
def test_of_several_choices_none_is_taken_and_that_is_said(odd, tmp_path, caplog, questions):
    path = tmp_path / "x.json"
    found = [annotated(questions), task(image="a#1.png")]
    assert taken(odd, found, path) == {"a#1.png": "1"}
    vs.label_folder(odd.photos, odd.classes, budget=30, net="small", labels=path).close()
    assert caplog.messages == [
        "x.json: 1 of 2 tasks imported", "x.json: not imported: 1 with several classes: a+b.png (1, 2)",
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"none in 1 tasks; 1 with several classes: a\+b.png \(1, 2\)"):
        taken(odd, found[:1], path)


def test_the_last_annotation_counts_also_where_it_is_empty_and_none_that_was_cancelled(odd, tmp_path):
    cancelled = annotated([["1"]], [["2"]], image="50%.png")
    cancelled["annotations"][1]["was_cancelled"] = True
    emptied = [annotated([["1"]], empty, image=image) for empty, image in (([], "a#1.png"), ([[]], "a b.png"))]
    changed, twice = annotated([["1"]], [["2"]]), annotated([["1"], ["1"]], image="a&b.png")
    found = taken(odd, [cancelled, *emptied, changed, twice], tmp_path / "x.json")
    assert found == {"50%.png": "1", "a+b.png": "2", "a&b.png": "1"}


@pytest.mark.parametrize(("annotations", "said"), [
    ([{"result": [{"value": {"choices": {"x": 1}}}]}], "task 2, choices"),
    ([{"result": [{"value": {"choices": "cat"}}]}], "task 2, choices"),
    ([{"result": [{"value": {"choices": [["a", "b"]]}}]}], "task 2, choices"),
    ([{"result": [{"value": "cat"}]}], "task 2, value"),
    ([{"result": {"value": 1}}], "task 2, result"),
    ({"result": []}, "task 2, annotations"),
    (5, "task 2, annotations"),
])  # fmt: skip
def test_what_cannot_be_read_is_refused_by_name(odd, tmp_path, annotations, said):
    bad = {"data": {"image": "a#1.png"}, "annotations": annotations}
    with pytest.raises(InputError, match=f"x.json: expected an export of Label Studio, as JSON, got {said}"):
        taken(odd, [task(image="a+b.png"), bad], tmp_path / "x.json")
