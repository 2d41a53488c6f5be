"""Run a grid on two real nodes of Ray on loopback and kill one of them, with its workers, in the first round.

Started by test_nodes.py: ``python two_nodes.py FOLDER STORE``. Prints the seconds from the kill to the end.
"""

import os
import signal
import sys
import time

import versionspace as vs
from campaign.tiny import config
from cluster.conftest import descendants

SETTINGS = ("budget.total=20", "training.epochs=10")
HEALTH = {"health_check_period_ms": 1000, "health_check_timeout_ms": 2000, "health_check_failure_threshold": 3}


def main(folder, store):
    from ray.cluster_utils import Cluster

    common = {"num_cpus": 1, "object_store_memory": 100_000_000, "include_dashboard": False}
    nodes = Cluster(True, head_node_args={"node_ip_address": "127.0.0.2", "_system_config": HEALTH, **common})
    second = nodes.add_node(node_ip_address="127.0.0.3", **common)
    os.environ["RAY_ADDRESS"] = nodes.address
    killed = []

    def hear(news):
        if news.kind == "round" and news.labels == 15 and not killed:
            raylet = second.all_processes["raylet"][0].process.pid
            for pid in [raylet, *descendants(raylet)]:
                os.kill(pid, signal.SIGKILL)
            killed.append(time.monotonic())

    try:
        executor = vs.cluster("auto", store=store)
        result = vs.run(
            config(*SETTINGS), methods=["gvd", "random"], seeds=[0], out=folder, progress=hear, executor=executor
        )
        assert result.failed == {}, result.failed
        print(time.monotonic() - killed[0])
    finally:
        nodes.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
