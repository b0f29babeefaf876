"""The memory that a process may take: that of the machine, or of the control groups of a container."""

import math
import os

import pytest

from bochner import memory
from bochner.experiments import measures

PHYSICAL, FREE = 16 * 2**30, 4 * 2**30
NO_LIMIT = 2**63 - 4096  # what the first version says if there is none


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine of 16 GiB, 4 of them free, whose control groups are given as texts of files."""

    def with_groups(own, **files):
        for name, text in {"self": own, "meminfo": f"MemTotal: 1 kB\nMemAvailable: {FREE // 1024} kB\n"}.items():
            (tmp_path / name).write_text(text)
        for name, text in files.items():
            path = tmp_path / "groups" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")

    monkeypatch.setattr(memory, "_OWN_GROUPS", tmp_path / "self")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_STATE", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_physical", lambda: float(PHYSICAL))
    return with_groups


def second(folder, limit, used=0, files=0):
    """Files of a group of the second version."""
    stat = f"anon 5\ninactive_file {files}"
    return {f"{folder}memory.max": limit, f"{folder}memory.current": used, f"{folder}memory.stat": stat}


def first(folder, limit, used=0, files=0):
    """Files of a group of the first version."""
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat")
    texts = (limit, used, f"inactive_file 1\ntotal_inactive_file {files}")
    return {f"memory/{folder}{name}": text for name, text in zip(names, texts, strict=True)}


def test_without_a_limit_it_is_that_of_the_machine(machine):
    machine("0::/\n")
    assert memory.total() == PHYSICAL
    assert memory.available() == FREE
    machine("4:memory:/\n0::/\n", **first("", NO_LIMIT, 2**30))
    assert memory.total() == PHYSICAL
    assert memory.available() == FREE


def test_a_container_of_the_second_version(machine):
    machine("0::/\n", **second("", 2 * 2**30, used=2**30, files=2**28))
    assert memory.total() == 2 * 2**30
    assert memory.available() == 2**30 + 2**28  # files that were read can leave


def test_a_container_of_the_first_version(machine):
    # Without a namespace of its own it is told the path of the host, which it does not have.
    machine("5:cpu,cpuacct:/docker/a1\n4:memory:/docker/a1\n", **first("", 3 * 2**30, used=2**30, files=2**29))
    assert memory.total() == 3 * 2**30
    assert memory.available() == 2.5 * 2**30


@pytest.mark.parametrize("limits", [("max", 2**30, 2**31), ("max", 2**31, 2**30), (2**30, 2**31, "max")])
def test_the_least_limit_of_the_groups_around_counts(machine, limits):
    folders = ("", "jobs/", "jobs/own/")
    files = [second(folder, limit) for folder, limit in zip(folders, limits, strict=True)]
    machine("0::/jobs/own\n", **files[0], **files[1], **files[2])
    assert memory.total() == memory.available() == 2**30


def test_the_limits_of_others_do_not_count(machine):
    machine("4:memory:/own\n", **first("own/", 2**31), **first("other/", 2**20), **second("own/", 2**20))
    assert memory.total() == 2**31


def test_more_is_used_than_allowed(machine):
    machine("0::/\n", **second("", 2**20, used=2**21))
    assert memory.available() == 0.0


def test_where_nobody_tells_it_is_infinite(machine, tmp_path, monkeypatch):
    machine("")
    monkeypatch.undo()
    for name in ("_OWN_GROUPS", "_GROUPS", "_STATE"):
        monkeypatch.setattr(memory, name, tmp_path / "nowhere")
    monkeypatch.setattr(os, "sysconf_names", {})
    assert memory.total() == memory.available() == math.inf
    assert measures._room() is None


def test_here_it_is_a_number_of_bytes():
    assert 1e6 < memory.available() <= memory.total()


def test_features_of_experiments_get_their_share(machine):
    machine("0::/\n")
    assert measures._room() == int(0.6 * PHYSICAL / 2**20)
    machine("0::/\n", **second("", 2 * 2**30))
    assert measures._room() == int(0.6 * 2 * 2**10)
