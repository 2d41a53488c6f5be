"""The name of the hardware that determines rounding, which campaigns record."""

import pytest
import torch

from versionspace import machine, runtime

XEON = {"model name": "Intel(R) Xeon(R) Processor", "cpu family": "6", "model": "207"}


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (XEON | {"cpu MHz": "2100.000", "processor": "1"}, True),
        (XEON | {"model": "143"}, False),
        (XEON | {"model name": "AMD EPYC"}, False),
        ({"CPU implementer": "0x41", "CPU part": "0xd40"}, False),
        ({}, False),
    ],
)
def test_only_processors_of_the_same_kind_have_the_same_name(other, same, monkeypatch):
    names = []
    for info in (XEON, other):
        monkeypatch.setattr(runtime, "cpuinfo", lambda info=info: info)
        monkeypatch.setattr(machine, "cpuinfo", lambda info=info: info)
        names.append(runtime.arithmetic(torch.device("cpu")))
    assert (names[0] == names[1]) is same
    assert names[1].endswith(torch.backends.cpu.get_cpu_capability())


def test_a_gpu_has_its_own_name(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"GPU {device.index}")
    assert runtime.arithmetic(torch.device("cuda", 1)) == "GPU 1"
    cpu = runtime.arithmetic(torch.device("cpu"))
    assert runtime.arithmetic(torch.device("mps")) == f"mps of {cpu}"
