"""``make bench``: one JSON line for each case."""

from benchmarks import heads, label_page, peers, training, worst_case

if __name__ == "__main__":  # some cases run in processes of their own, which import this module
    peers.run()
    worst_case.run()
    training.run()
    heads.run()
    label_page.run()
