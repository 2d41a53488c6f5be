"""What a campaign is held to beside versions: the processor that rounds."""

import pytest
import torch

from versionspace import machine
from versionspace import runtime as work

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
def test_processors_of_one_kind_have_one_name(other, same, monkeypatch):
    names = []
    for found in (XEON, other):
        monkeypatch.setattr(work, "cpuinfo", lambda found=found: found)
        monkeypatch.setattr(machine, "cpuinfo", lambda found=found: found)
        names.append(work.arithmetic(torch.device("cpu")))
    assert (names[0] == names[1]) is same
    assert names[1].endswith(torch.backends.cpu.get_cpu_capability())


def test_a_gpu_is_not_the_processor_beside_it(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"GPU {device.index}")
    assert work.arithmetic(torch.device("cuda", 1)) == "GPU 1"
    here = work.arithmetic(torch.device("cpu"))
    assert work.arithmetic(torch.device("mps")) == f"mps of {here}"
