# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The virtual machines are what the tests beside this one take them for. Oracle: what the nodes say of themselves."""


def test_nodes_have_names_addresses_and_processes_of_their_own(job):
    for number in (1, 2):
        assert job.on(number, "hostname").stdout == f"node{number}\n"
        assert f"10.77.0.{number}/24" in job.on(number, "ip", "-4", "-o", "addr").stdout
    assert job.on(1, "sh", "-c", "echo mine > /tmp/file; echo > /dev/shm/file; ls /proc | grep -c '^[0-9]'").returncode == 0
    assert job.on(2, "ls", "/tmp/file", "/dev/shm/file").returncode == 2
    assert (job.cluster[1].tmp("file")).read_text() == "mine\n"


def test_ssh_reaches_every_node(job):
    assert job.on(1, "ssh", "node4", "hostname").stdout == "node4\n"


def test_a_cut_cable_is_silence(job):
    ask = ("ssh", "-o", "ConnectTimeout=1", "10.77.0.2", "hostname")
    job.cluster[2].cut()
    assert job.on(1, *ask).returncode == 255
    job.cluster[2].heal()
    assert job.on(1, *ask).stdout == "node2\n"


def test_slurm_runs_tasks_on_all_nodes(job):
    hosts = job.on(1, "srun", "-N4", "--gres=gpu:2", "sh", "-c", "echo $(hostname) $CUDA_VISIBLE_DEVICES").stdout
    assert sorted(hosts.split("\n")[:4]) == [f"node{number} 0,1" for number in (1, 2, 3, 4)]


def test_processes_of_jobs_are_found_and_ended(job):
    job.start_on(3, "sleep", "1000", env={"DTRAIN_JOB_TOKEN": "abc"})
    left = job.cluster.left_behind(patience=0.2)
    assert list(left) == ["node3"] and list(left["node3"].values()) == ["sleep 1000"]
    job.cluster.clear()
    assert job.cluster.left_behind(patience=2) == {}
