import pytest

from versionspace.text import did_you_mean, duration, nearest, percent, printable


@pytest.mark.parametrize(
    ("name", "shown"),
    [("caf\udce9.jpg", r"caf\xe9.jpg"), ("\udc80\udcff", r"\x80\xff"), ("\ud83d", r"\ud83d"), ("größe 猫", "größe 猫")],
)
def test_printable_names_can_be_encoded(name, shown):
    assert printable(name) == shown
    assert printable(name).encode() == shown.encode()


def test_the_nearest_name_is_the_most_similar_above_the_cutoff():
    known = ("gvd", "gvd-loo", "m-gvd", "random")
    assert nearest("gvd-lo", known) == "gvd-loo"
    assert nearest("gvdd", iter(known)) == "gvd"
    assert nearest("rndm", known, cutoff=0.9) is None
    assert did_you_mean("gvdd", known, "See the list.") == "Did you mean 'gvd'?"
    assert did_you_mean("zzz", known, "See the list.") == "See the list."


@pytest.mark.parametrize(
    ("seconds", "text", "rough"),
    [
        (0.4, "0 s", "0 s"),
        (59.4, "59 s", "59 s"),
        (60, "1 min 0 s", "1 min"),
        (3599.4, "59 min 59 s", "59 min"),
        (3599.6, "1 h 0 min", "1 h 0 min"),
        (47 * 3600, "47 h 0 min", "47 h 0 min"),
        (60 * 3600, "2.5 days", "2.5 days"),
    ],
)
def test_durations(seconds, text, rough):
    assert duration(seconds) == text
    assert duration(seconds, rough=True) == rough


def test_percentages_have_one_decimal():
    assert [percent(value) for value in (0.0, 0.9996, 1.0, None)] == ["0.0%", "100.0%", "100.0%", "–"]
