# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The virtual machines are what the tests beside this one take them for. Oracle: what the nodes say of themselves."""
import sys


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


def test_a_bad_link_is_late_and_slow_and_loses_frames(job):
    """Oracle: how long bytes take at the rate."""
    send = ("import socket, sys, time\nbegin = time.monotonic()\n"
            "with socket.create_connection(('10.77.0.2', 7000)) as s:\n"
            "    s.sendall(bytes(int(sys.argv[1])))\n    s.shutdown(socket.SHUT_WR)\n    s.recv(1)\n"
            "print(time.monotonic() - begin)\n")
    serve = ("import socket\nwith socket.create_server(('', 7000)) as s:\n"
             "    print('up', flush=True)\n    c = s.accept()[0]\n    got = 0\n"
             "    while part := c.recv(1 << 16): got += len(part)\n    c.sendall(b'x')\n    print(got)\n")

    def seconds_for(size):
        server = job.start_on(2, sys.executable, "-c", serve)
        assert server.stdout.readline() == "up\n"
        took = float(job.on(1, sys.executable, "-c", send, size).stdout)
        assert server.communicate()[0] == f"{size}\n"
        return took

    with job.cluster[2].bad_link(delay=100):
        assert seconds_for(1) > 0.4, "two ways there and two back"
    with job.cluster[2].bad_link(rate=1000):
        assert seconds_for(50_000) > 0.3
    with job.cluster[2].bad_link(loss=20):
        seconds_for(1 << 20)
    with job.cluster[2].bad_link(loss=100):
        assert not job.cluster[2].connected()
    assert job.cluster[2].connected()


def test_slurm_runs_tasks_on_all_nodes(job):
    hosts = job.on(1, "srun", "-N4", "--gres=gpu:2", "sh", "-c", "echo $(hostname) $CUDA_VISIBLE_DEVICES").stdout
    assert sorted(hosts.split("\n")[:4]) == [f"node{number} 0,1" for number in (1, 2, 3, 4)]


def test_processes_of_jobs_are_found_and_ended(job):
    job.start_on(3, "sleep", "1000", env={"DTRAIN_JOB_TOKEN": "abc"})
    left = job.cluster.left_behind(timeout=0.2)
    assert list(left) == ["node3"] and list(left["node3"].values()) == ["sleep 1000"]
    job.cluster.clear()
    assert job.cluster.left_behind(timeout=2) == {}
