# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""One virtual cluster for all tests of this folder; each test begins and ends on empty nodes."""
import pathlib
import shutil
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from virtual_cluster import VirtualCluster, why_not  # noqa: E402
from whole_jobs import LAUNCH, OMPI5, ROOT, BUILD, clean_environment  # noqa: E402

NODES = 4
VISIBLE = [ROOT, BUILD] + ([pathlib.Path(OMPI5).parents[1]] if OMPI5 else [])


# Where several processes share the files (pytest-xdist's --dist loadfile), those that take longest begin first.
LONGEST = ["test_ssh_jobs", "test_elastic", "test_agents", "test_check", "test_job_commands", "test_slurm_daemon"]


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


def environment():
    """More ranks than processors: waiting ranks must not spin."""
    environment = clean_environment(OMPI_MCA_mpi_yield_when_idle=1)
    del environment["DTRAIN_JOBS_DIR"]  # the cluster has a home of its own
    return environment


@pytest.fixture(scope="session")
def whole_cluster():
    if (reason := why_not(slurm=True, etcd=True)) is not None:
        pytest.skip(reason)
    with VirtualCluster(NODES, slurm=True, etcd=True, visible=VISIBLE, environment=environment) as cluster:
        yield cluster


class ClusterJob:
    """A test's own folder, the same on all nodes, and commands that run in it."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.folder = cluster.shared / uuid.uuid4().hex[:8]
        self.folder.mkdir()

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def start_on(self, number, *argv, **options):
        return self.cluster[number].start(*argv, cwd=self.folder, **options)

    def on(self, number, *argv, **options):
        return self.cluster[number].run(*argv, cwd=self.folder, **options)

    def launch_on(self, number, *arguments, **options):
        return self.on(number, LAUNCH, *arguments, **options)

    def log(self, rank, folder="log"):
        return (self.folder / folder / f"workerlog.{rank}").read_text()


@pytest.fixture
def job(whole_cluster):
    whole_cluster.clear()
    shutil.rmtree(whole_cluster.home / ".local/state/dtrain", ignore_errors=True)  # traces of killed launchers
    yield ClusterJob(whole_cluster)
    whole_cluster.clear()
