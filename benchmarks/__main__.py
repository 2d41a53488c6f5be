"""``python -m benchmarks``: run every case and print one JSON line for each."""

from benchmarks import heads, label_page, peers, training, worst_case

if __name__ == "__main__":  # some cases spawn processes, which import this module
    peers.run()
    worst_case.run()
    training.run()
    heads.run()
    label_page.run()
