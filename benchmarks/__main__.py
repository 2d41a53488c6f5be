"""``python -m benchmarks``: run every case and print one JSON line for each."""

from benchmarks import (
    cluster,
    coverage,
    features_on_disk,
    heads,
    label_page,
    large_folder,
    own_models,
    peers,
    simulated_person,
    training,
    worst_case,
)

if __name__ == "__main__":  # some cases spawn processes, which import this module
    peers.run()
    own_models.run()
    worst_case.run()
    coverage.run()
    training.run()
    heads.run()
    features_on_disk.run()
    label_page.run()
    large_folder.run()
    simulated_person.run()
    cluster.run()
