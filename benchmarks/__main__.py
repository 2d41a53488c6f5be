"""``make bench``: one JSON line for each case."""

from benchmarks import peers, worst_case

peers.run()
worst_case.run()
