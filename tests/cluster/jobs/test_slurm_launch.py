# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""dtrain-launch inside of an allocation: nodes, counts and GPUs come from Slurm.

Oracles: Slurm's own variables in the ranks, the names of the nodes.
"""
import json

import pytest

from whole_jobs import BUILD, LAUNCH, PYTHON, WORKER

SPAWNS = BUILD / "tests" / "spawn" / "spawn_scenarios"
SHOW = """
import json, os, socket
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK", "PADDLE_CURRENT_ENDPOINT", "CUDA_VISIBLE_DEVICES",
         "FLAGS_selected_gpus", "SLURM_STEP_GPUS", "SLURM_STEP_ID", "MASTER_ADDR", "SPECIAL")
values = {name: os.environ.get(name) for name in names} | {"host": socket.gethostname()}
json.dump(values, open("env." + os.environ["RANK"], "w"))
"""


def launch(job, allocation, *words, **options):
    job.script("show.py", SHOW)
    return job.cluster.control.run("salloc", "--quiet", *allocation, LAUNCH, "--quiet", *words, "show.py", cwd=job.folder,
                                   **options)


def seen(job, count):
    return [json.loads((job.folder / f"env.{rank}").read_text()) for rank in range(count)]


@pytest.mark.parametrize("gpu_options", [["--gres=gpu:2"], ["--gpus-per-node=2"], ["-n4", "--gpus-per-task=1"],
                                         ["-n4", "--ntasks-per-node=2", "--gpus-per-node=2", "--gpu-bind=single:1"]])
def test_one_rank_per_gpu_and_all_of_a_node_see_its_gpus(job, gpu_options):
    done = launch(job, ["-N2", *gpu_options], env={"SPECIAL": "a b;c"})
    assert done.returncode == 0, done.stderr
    for rank, values in enumerate(seen(job, 4)):
        assert values["WORLD_SIZE"] == "4" and values["host"] == f"node{1 + rank // 2}"
        assert values["LOCAL_RANK"] == str(rank % 2) and values["GROUP_RANK"] == str(rank // 2)
        assert values["CUDA_VISIBLE_DEVICES"] == values["SLURM_STEP_GPUS"] == "0,1"
        assert values["FLAGS_selected_gpus"] == str(rank % 2)
        assert values["PADDLE_CURRENT_ENDPOINT"].startswith(values["host"] + ":")
        assert values["SPECIAL"] == "a b;c"


def test_chosen_gpus_are_narrowed_by_position(job):
    assert launch(job, ["-N2", "--gres=gpu:2"], "--gpus", 1).returncode == 0
    for rank, values in enumerate(seen(job, 2)):
        assert values["host"] == f"node{1 + rank}"
        assert values["CUDA_VISIBLE_DEVICES"] == "1" and values["FLAGS_selected_gpus"] == "0"


@pytest.mark.parametrize("wrap", [["salloc", "--quiet", "-N2", "-n4"], ["sbatch", "--wait", "--quiet", "-N2", "-n4", "--output=out"]])
def test_a_program_spawns_its_ranks_on_the_first_node(job, wrap):
    """Although the allocation has more nodes and tasks: spawn() is for one machine."""
    if wrap[0] == "sbatch":
        script = job.script("job.sh", f"#!/bin/sh\nexec {SPAWNS} two\n")
        done = job.cluster.control.run(*wrap, script, cwd=job.folder)
        text = (job.folder / "out").read_text()
    else:
        done = job.cluster.control.run(*wrap, SPAWNS, "two", cwd=job.folder)
        text = done.stdout
    assert done.returncode == 0, done.stderr + text
    assert sorted(text.splitlines()) == ["[0] rank 0 of 2", "[1] rank 1 of 2"]


def test_the_banner_names_slurms_nodes(job):
    job.script("a.py", "")
    done = job.cluster.control.run("salloc", "--quiet", "-N2", LAUNCH, "a.py", cwd=job.folder)
    assert done.returncode == 0, done.stderr
    assert "\nips: node1,node2\n" in done.stdout


def test_unequal_numbers_of_tasks_are_the_ranks(job):
    assert launch(job, ["-N2", "-n3"]).returncode == 0
    assert [values["host"] for values in seen(job, 3)] == ["node1", "node1", "node2"]


def test_one_node_of_several_processes(job):
    assert launch(job, ["-N1"], "--nproc_per_node", 3).returncode == 0
    assert [values["host"] for values in seen(job, 3)] == ["node1"] * 3


def test_settings_of_the_allocation_do_not_reach_the_step(job):
    job.script("say.py", "import os\nprint('said', os.environ['RANK'])")
    done = job.cluster.control.run("salloc", "--quiet", "-N2", LAUNCH, "--tee", "all", "say.py", cwd=job.folder,
                                   env={"SLURM_LABELIO": "1", "SLURM_UNBUFFEREDIO": "1", "SLURM_KILL_BAD_EXIT": "0",
                                        "SLURM_EXPORT_ENV": "NONE", "SLURM_DISTRIBUTION": "cyclic"})
    assert done.returncode == 0, done.stderr
    assert {line for line in done.stdout.splitlines() if "said" in line} == {"[0] said 0", "[1] said 1"}


def test_mpi_programs(job):
    job.script("mpi.py", "from mpi4py import MPI\nprint(MPI.COMM_WORLD.allreduce(1), 'of', MPI.COMM_WORLD.Get_size())")
    done = job.cluster.control.run("salloc", "--quiet", "-N2", LAUNCH, "--nproc_per_node", 2, PYTHON, "mpi.py", cwd=job.folder)
    assert done.returncode == 0, done.stderr
    assert {job.log(rank) for rank in range(4)} == {"4 of 4\n"}


def test_mpirun_when_asked(job):
    job.script("show.py", SHOW)
    done = job.on(1, "salloc", "--quiet", "-N2", LAUNCH, "--engine", "mpirun", "--nproc_per_node", 2, "show.py")
    assert done.returncode == 0, done.stderr
    assert [values["host"] for values in seen(job, 4)] == ["node1", "node1", "node2", "node2"]


def test_srun_outside_of_an_allocation_is_refused(job):
    job.script("show.py", SHOW)
    done = job.launch_on(1, "--engine", "srun", "show.py")
    assert done.returncode == 2 and "sbatch or salloc" in done.stderr


def ranks_that_are_up(job):
    """As the launcher on the control node knows them."""
    return [each["up"] for each in json.loads(job.cluster.control.run(LAUNCH, "status", "--json", cwd=job.folder).stdout)]


def test_a_cut_cable_is_named_and_leaves_nothing(job):
    job.script("wait.py", "import time\ntime.sleep(1000)")
    child = job.cluster.control.start("salloc", "--quiet", "-N2", LAUNCH, "--quiet", "--grace", 1, "wait.py", cwd=job.folder)
    job.cluster.wait_until(lambda: ranks_that_are_up(job) == [2], "both ranks")  # of one that starts only Slurm knows that it is lost
    job.cluster[2].cut()
    out, err = child.communicate(timeout=180)  # 40 on an idle machine: Slurm waits for the node
    assert child.returncode != 0 and "node node2 was lost" in err, err
    job.cluster.wait_until(lambda: job.cluster.jobs_processes() == {}, "the end of the cut node's rank", timeout=180)


@pytest.fixture
def waiting_worker(job):
    """On node 2 a worker begins when the file `go` is there."""
    worker = job.script("worker.sh", f"""#!/bin/sh
while ! [ -e {job.folder}/go ]; do sleep 0.1; done
umount -l {WORKER}
exec {WORKER} "$@"
""")
    worker.chmod(0o755)
    job.cluster[2].check("mount", "--bind", worker, WORKER)
    yield
    job.cluster[2].run("umount", WORKER)


def test_a_rank_that_does_not_start_is_named_and_waited_for(job, waiting_worker):
    job.script("wait.py", f"import os, time\nwhile not os.path.exists('{job.folder}/end'): time.sleep(0.1)")
    child = job.cluster.control.start("salloc", "--quiet", "-N2", LAUNCH, "--quiet", "--report", "report.json", "wait.py",
                                      cwd=job.folder, stderr=(job.folder / "said").open("w"))
    job.cluster.wait_until(lambda: "not started" in (job.folder / "said").read_text(), "a warning", timeout=90)
    assert ("rank 1 on node2 has not started, 30 s after the last one that has: its node may be down, or wait for a file system; "
            "the job waits\n") in (job.folder / "said").read_text()
    name = json.loads(job.cluster.control.run(LAUNCH, "status", "--json", cwd=job.folder).stdout)[0]["job"]
    status = job.cluster.control.run(LAUNCH, "status", name, "--json", cwd=job.folder)
    assert [rank["state"] for rank in json.loads(status.stdout)[0]["ranks"]] == ["running", "starting"], status
    explained = job.cluster.control.run(LAUNCH, "explain", name, cwd=job.folder)
    assert (explained.returncode, explained.stdout) == (0, "rank 1 on node2 has not started\n"), explained.stderr
    (job.folder / "go").touch()
    job.cluster.wait_until(lambda: "all ranks have started" in (job.folder / "said").read_text(), "the start", timeout=90)
    (job.folder / "end").touch()
    child.communicate(timeout=60)
    assert child.returncode == 0, (job.folder / "said").read_text()
    told, = json.loads((job.folder / "report.json").read_text())["reported_hangs"]
    assert told["cause"] == "not_started" and told["seconds"] > 0


def test_a_job_with_a_rank_that_does_not_start_hangs(job, waiting_worker):
    job.script("wait.py", "import time\ntime.sleep(1000)")
    child = job.cluster.control.start("salloc", "--quiet", "-N2", LAUNCH, "--quiet", "--grace", 1, "--hang-timeout", 10, "--report",
                                      "report.json", "wait.py", cwd=job.folder)
    _, err = child.communicate(timeout=150)
    assert child.returncode == 124 and "it hung: rank 1 on node2 has not started" in err, err
    report = json.loads((job.folder / "report.json").read_text())
    assert (report["hang"]["cause"], report["hang"]["culprits"]) == ("not_started", [1])
