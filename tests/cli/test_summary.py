"""What the end of a run says of its campaigns."""

import io
from types import SimpleNamespace

from rich.console import Console

from report.made_up import campaign
from versionspace.cli.campaigns import _conclude
from versionspace.cli.summary import summary, unfinished
from versionspace.store import read_campaign


def printed(records):
    out = io.StringIO()
    Console(file=out, width=120).print(summary(records))
    return out.getvalue()


def row(records, method):
    return next(line.split() for line in printed(records).splitlines() if line.startswith(method))


def test_only_campaigns_that_ended_are_in_the_means_at_the_end(tmp_path):
    done = read_campaign(campaign(tmp_path / "gvd" / "0", "gvd", 0))
    left = read_campaign(campaign(tmp_path / "gvd" / "1", "gvd", 1, reach=10, ended=False))
    accuracy = 100 * done.measured_rounds()[-1].metrics.sets["test"].accuracy
    assert row([done, left], "gvd")[1:4] == ["1", "60", f"{accuracy:.1f}"]
    assert unfinished([done, left]) == "gvd/1 (10 labels) has not ended and is not included in the means."
    assert unfinished([done]) == ""


def test_a_method_of_which_nothing_ended_has_no_line(tmp_path):
    done = read_campaign(campaign(tmp_path / "gvd" / "0", "gvd", 0))
    left = [read_campaign(campaign(tmp_path / "random" / str(s), "random", s, reach=10, ended=False)) for s in range(9)]
    assert row([done, *left], "gvd")[1] == "1"
    assert "random" not in printed([done, *left])
    said = unfinished([done, *left])
    assert said.startswith("random/0 (10 labels), random/1 (10 labels), ")
    assert said.endswith("random/5 (10 labels) and 3 others have not ended and are not included in the means.")


def test_where_nothing_ended_there_is_no_table(tmp_path, capsys):
    left = read_campaign(campaign(tmp_path / "gvd" / "0", "gvd", 0, reach=10, ended=False))
    _conclude(SimpleNamespace(campaigns=lambda: [left], failed={}, stopped=False, folder=tmp_path))
    said = " ".join(capsys.readouterr().out.split())
    assert "gvd/0 (10 labels) has not ended" in said
    assert "at the end" not in said
