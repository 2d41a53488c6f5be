"""The roles of images, and images that are missing or were moved."""

import tracemalloc

import numpy as np
import pytest
from PIL import Image

from campaign.tiny import config
from versionspace import data
from versionspace.campaign import Campaign
from versionspace.campaign.datasets import image_shape, open_dataset
from versionspace.campaign.images import CampaignImages, Roles, draw_roles, restore_images
from versionspace.errors import InputError
from versionspace.store import read_campaign


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


def test_neither_reference_nor_audit_is_askable():
    ids = np.arange(10)
    found = Roles(ids, ids[:0], ids[:0], ids[:2], reference=np.array([3, 4]), audit=np.array([7]))
    assert found.askable().tolist() == [0, 1, 2, 5, 6, 8, 9]


def test_the_audit_is_drawn_uniformly_from_the_whole_pool(digits):
    """Every image of the pool is equally likely, also those that would be first labels without an audit."""
    counts = np.zeros(len(digits.train))
    wanted = config("budget.total=100", "budget.audit=60", "data.validation=0")
    found = [draw_roles(wanted.model_copy(update={"seed": seed}), digits) for seed in range(60)]
    for one in found:
        counts[one.audit] += 1
        assert len(np.intersect1d(one.audit, one.reference)) == 0
        assert len(np.intersect1d(one.initial, np.concatenate([one.audit, one.reference]))) == 0
        assert len(one.initial) == 10
        assert sorted(digits.train.labels[one.initial]) == list(range(10))
    by_class = np.bincount(digits.train.labels, weights=counts, minlength=10)
    assert by_class.sum() == 60 * 60
    assert abs(by_class - 360).max() < 6 * np.sqrt(360)  # the pool has its classes in equal numbers


def test_without_an_audit_the_roles_are_those_of_the_split(digits):
    plain = data.split(digits, pool=150, validation=40, test=60, initial=10, seed=0)
    found = draw_roles(config(), digits)
    for name in ("pool", "validation", "test", "initial"):
        assert (getattr(found, name) == getattr(plain, name)).all()
    assert len(found.reference) == len(found.audit) == 0


@pytest.mark.parametrize("name", ["pool", "test"])
def test_missing_images_are_named(digits, name):
    arrays = draw_roles(config(), digits).arrays()
    arrays[name] = np.append(arrays[name], 99_999)
    with pytest.raises(InputError, match="all 251 images of the campaign, got 1 missing: 99999"):
        restore_images(digits, arrays)


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """60 digits in class folders, for a campaign with known labels."""
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path / "cache"))
    part = data.load("digits").train
    for i in range(60):
        place = tmp_path / "photos" / str(part.labels[i])
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(part.images[i, ..., 0]).save(place / f"{i}.png")
    return tmp_path / "photos"


FOLDER = ("data.pool=30", "data.validation=10", "data.test=10", "data.initial=10", "data.size=8", "data.channels=1",
          "data.balanced=false", "budget.total=15")  # fmt: skip


def test_a_campaign_with_known_labels_rejects_a_missing_image_by_its_file(photos, tmp_path):
    with Campaign.create(tmp_path / "c", config(f"data.name={photos}", *FOLDER)) as campaign:
        campaign.propose()
        found = campaign.images
        assert found.files[found.roles.test[0]] in campaign.dataset.train.files
    for image in (found.roles.pool[0], found.roles.test[0]):
        file = photos / found.files[image]
        content = file.read_bytes()
        file.unlink()
        with pytest.raises(InputError, match=f"all 50 images of the campaign, got 1 missing: {found.files[image]}"):
            Campaign.open(tmp_path / "c")
        file.write_bytes(content)
    with Campaign.open(tmp_path / "c") as campaign:
        campaign.run()
        assert campaign.state.ended == "budget"


def test_a_moved_folder_of_images_changes_no_result(photos, tmp_path):
    wanted = config(f"data.name={photos}", *FOLDER)
    with Campaign.create(tmp_path / "plain", wanted) as campaign:
        campaign.run()
    with Campaign.create(tmp_path / "c", wanted) as campaign:
        campaign.accept(campaign.oracle().answer(campaign.propose().ids), who="simulated")
    new = photos.rename(tmp_path / "elsewhere")
    with Campaign.open(tmp_path / "c", images=new) as campaign:
        campaign.run()
    assert read_campaign(tmp_path / "c").config.data.name == str(new)
    both = [[(r.asked, r.utilities, r.metrics) for r in read_campaign(tmp_path / n).rounds] for n in ("c", "plain")]
    assert both[0] == both[1]
    Campaign.create(tmp_path / "digits", config()).close()
    with pytest.raises(InputError, match="none for a campaign on digits"):
        Campaign.open(tmp_path / "digits", images=new)


@pytest.mark.parametrize("form", [(), ("data.size=8",), ("data.size=12", "data.channels=1", "data.fit=pad")])
def test_the_shape_of_images_is_known_without_reading_them(photos, form):
    wanted = config(f"data.name={photos}", *form)
    assert image_shape(wanted) == open_dataset(wanted).train.images.shape[1:]
    assert image_shape(config()) == (8, 8, 1)


def test_the_pool_is_read_a_chunk_at_a_time(tmp_path):
    """Neither pixels nor labels of a memory-mapped pool of 25 MB are copied."""
    images = np.lib.format.open_memmap(tmp_path / "pool.npy", "w+", np.uint8, (2000, 64, 64, 3))
    images[:, 0, 0, 0] = np.arange(2000) % 251
    ids = np.random.default_rng(0).permutation(2000)
    dataset = data.Dataset("made up", ("a", "b"), data.Subset(images, ids % 2, ids))
    none = ids[:0]
    found = CampaignImages(dataset, Roles(np.sort(ids), none, none, none, none, none))
    tracemalloc.start()
    try:
        pool = found.of("pool")
        assert found.truth("pool").tolist() == [0, 1] * 1000
        seen = [pool[i : i + 100][:, 0, 0, 0].copy() for i in range(0, len(pool), 100)]
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(np.concatenate(seen), images[np.argsort(ids), 0, 0, 0])
    np.testing.assert_array_equal(np.asarray(pool), images[np.argsort(ids)])
    np.testing.assert_array_equal(found.pixels(ids[:5]), images[:5])
