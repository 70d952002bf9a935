# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The files of pbs/ as they are, submitted by an ordinary user. Oracles: what PBS says of the job (qstat -x), the nodes that
it gave, and programs that print what they saw."""
import os
import pathlib

import pytest

from conftest import BUILD, ROOT, USER
from whole_jobs import OMPI5, NoSsh

SHOW = """
import os, socket
print("rank", os.environ["RANK"], "local", os.environ["LOCAL_RANK"], "on", socket.gethostname(), flush=True)
"""
SCATTERED = ("-l", "select=2:ncpus=1:mpiprocs=2", "-l", "place=scatter")

# Has a terminal, as qsub -I wants one, and types when the job's shell asks for something.
TYPIST = """
import os, pty, select, sys, time
child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
lines = ["PS1=rea''dy:", "cd $PBS_O_WORKDIR", "dtrain-launch --tee all show.py", "echo status is $?", "exit"]
said, typed = "", 0
deadline = time.monotonic() + 150
while time.monotonic() < deadline:
    if not select.select([terminal], [], [], 1)[0]:
        continue
    try:
        part = os.read(terminal, 65536).decode(errors="replace")
    except OSError:
        break
    if not part:
        break
    said += part
    sys.stdout.write(part)
    sys.stdout.flush()
    asked = said.count("ready:") + (" ready\\r\\n" in said)  # "qsub: job 5.ctl ready", then its shell's prompts
    if asked > typed and lines:
        os.write(terminal, (lines.pop(0) + "\\n").encode())
        typed += 1
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def ranks_of(output):
    return sorted(line.partition("] rank ")[2] for line in output.splitlines() if "] rank " in line)


def hosts_of(output):
    return [line.rpartition(" on ")[2] for line in ranks_of(output)]


def nodes_of(info):
    """exec_host is node1/0*2+node3/0*2."""
    return [part.partition("/")[0] for part in info["exec_host"].split("+")]


def processes_on_second(user, number):
    """Those of the user on the second node of a job that runs; {} before it does."""
    info = user.info(number)
    return user.cluster[int(nodes_of(info)[1].removeprefix("node"))].processes_of(USER) if "exec_host" in info else {}


def ancestors_of(pid):
    """The names of a process' parent, its parent ..., as seen from outside."""
    names = []
    while pid > 1:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        pid = int(status.partition("\nPPid:\t")[2].split("\n")[0])
        names.append(pathlib.Path(f"/proc/{pid}/comm").read_text().strip())
    return names


def test_the_collective_file_as_it_is(user):
    user.script("show.py", SHOW)
    number = user.submit("-v", "PROGRAM=--tee all show.py", ROOT / "pbs/collective.pbs")
    status, output = user.wait_for_end(number)
    assert status == 0, output
    assert len(ranks_of(output)) == 2 and hosts_of(output) == nodes_of(user.info(number))


def test_a_rank_for_each_line_of_the_node_file(user):
    user.script("show.py", SHOW)
    number = user.submit(*SCATTERED, "-V", "-v", "PROGRAM=--tee all show.py", ROOT / "pbs/collective.pbs")
    status, output = user.wait_for_end(number)
    assert status == 0, output
    first, second = nodes_of(user.info(number))
    assert ranks_of(output) == [f"{rank} local {rank % 2} on {first if rank < 2 else second}" for rank in range(4)]


def test_the_parameter_server_file(user):
    user.script("ps.py", "import os, time\nif os.environ['TRAINING_ROLE'] == 'PSERVER': time.sleep(1000)\n"
                "print('worker', os.environ['PADDLE_TRAINER_ID'], 'of', os.environ['PADDLE_TRAINERS_NUM'])\n")
    number = user.submit("-v", "PROGRAM=--tee all ps.py,SERVERS=2,WORKERS=3", ROOT / "pbs/ps.pbs")
    status, output = user.wait_for_end(number)
    assert status == 0, output
    assert sorted(line.partition("] worker ")[2] for line in output.splitlines() if "] worker " in line) == ["0 of 3", "1 of 3", "2 of 3"]


def test_without_any_variable_of_the_submitter(user):
    """And with a profile that knows nothing: the file says where dtrain is, as its comment shows."""
    user.profile("")
    user.script("show.py", SHOW)
    text = (ROOT / "pbs/collective.pbs").read_text()
    commented = '# export PATH="$HOME/dtrain/bin:$PATH"'
    assert commented in text
    file = user.script("collective.pbs", text.replace(commented, f'export PATH="{BUILD}/src/bin:$PATH"').replace("train.py", "--tee all show.py"))
    number = user.submit(*SCATTERED, file)
    status, output = user.wait_for_end(number)
    assert status == 0, output
    assert len(ranks_of(output)) == 4 and len(set(hosts_of(output))) == 2


def test_ranks_that_share_a_chunk_share_its_processors(user):
    """PBS tells each of them, by OMP_NUM_THREADS, that it has all 8; together they start no more threads than there are processors."""
    user.script("show.py", "import os\nprint('rank', os.environ['RANK'], 'of', os.environ['NCPUS'], 'has', os.environ['OMP_NUM_THREADS'])\n")
    number = user.submit("-l", "select=2:ncpus=8:mpiprocs=2", "-v", "PROGRAM=--tee all show.py", ROOT / "pbs/collective.pbs")
    status, output = user.wait_for_end(number)
    assert status == 0, output
    assert [line.partition(" has ")[0] for line in ranks_of(output)] == [f"{rank} of 8" for rank in range(4)], output
    assert all(1 <= int(line.partition(" has ")[2]) <= max(1, os.cpu_count() // 2) for line in ranks_of(output)), output


def test_the_other_node_is_reached_by_pbs_alone(user):
    """An ssh that only leaves a mark; and the daemon of mpirun there is a descendant of PBS' own."""
    no_ssh = NoSsh(user.folder)
    (no_ssh.folder / "ssh").chmod(0o755)
    user.profile(f"PATH={no_ssh.folder}:{BUILD}/src/bin:$PATH\n")
    user.script("show.py", SHOW + "import time\nwhile not os.path.exists('go'): time.sleep(0.1)\n")
    number = user.submit(*SCATTERED, "-v", "PROGRAM=--tee all show.py", ROOT / "pbs/collective.pbs")
    user.wait_for(lambda: any("show.py" in command for command in processes_on_second(user, number).values()), "ranks on the other node")
    daemons = [pid for pid, command in processes_on_second(user, number).items() if command.startswith("orted")]
    assert daemons and all("pbs_mom" in ancestors_of(pid) for pid in daemons)
    (user.folder / "go").touch()
    status, output = user.wait_for_end(number)
    assert status == 0, output
    assert not no_ssh.mark.exists(), no_ssh.mark.read_text()


def test_packed_chunks_are_one_node(user):
    """Two chunks on one node are that node's name four times in PBS_NODEFILE."""
    user.script("show.py", SHOW)
    number = user.submit("-l", "select=2:ncpus=1:mpiprocs=2", "-l", "place=pack", "-V", "-v", "PROGRAM=--tee all show.py",
                         ROOT / "pbs/collective.pbs")
    status, output = user.wait_for_end(number)
    assert status == 0, output
    assert [line.partition(" on ")[0] for line in ranks_of(output)] == [f"{rank} local {rank}" for rank in range(4)]
    assert len(set(hosts_of(output))) == 1


def test_chunks_of_a_node_that_do_not_stand_together(user):
    """place=free with three chunks, of which the first and the last may be of the same node: ranks are counted by node."""
    user.script("show.py", SHOW)
    chunks = "1:ncpus=1:mpiprocs=1:host=node1+1:ncpus=1:mpiprocs=2:host=node2+1:ncpus=1:mpiprocs=1:host=node1"
    number = user.submit("-l", "place=free", "-l", f"select={chunks}", "-V", "-v", "PROGRAM=--tee all show.py", ROOT / "pbs/collective.pbs")
    status, output = user.wait_for_end(number)
    assert status == 0, output
    assert sorted(hosts_of(output)) == ["node1", "node1", "node2", "node2"]
    assert sorted(line.split(" ")[2] + " " + line.split(" ")[4] for line in ranks_of(output)) == ["0 node1", "0 node2", "1 node1", "1 node2"]


@pytest.mark.parametrize("variables", [(), ("-V",)], ids=["own variables", "all variables"])
def test_jobs_of_an_array(user, variables):
    user.script("show.py", SHOW)
    number = user.submit("-J", "0-1", *SCATTERED, *variables, "-v", "PROGRAM=--tee all show.py", ROOT / "pbs/collective.pbs")
    server = number.partition(".")[2]
    for index in range(2):
        own = f"{number.partition('[')[0]}[{index}].{server}"
        user.wait_for_state(own, ("F", "X"))
        output = (user.folder / f"{index}.out").read_text()
        assert user.info(own)["Exit_status"] == 0, output
        assert len(ranks_of(output)) == 4
        assert sorted(path.name for path in (user.folder / "log" / own).glob("workerlog.*")) == [f"workerlog.{rank}" for rank in range(4)]


@pytest.mark.parametrize("variables", [(), ("-V",)], ids=["own variables", "all variables"])
def test_an_interactive_job(user, variables):
    """A person at a terminal types the command; rank 0's output comes to it."""
    user.script("show.py", SHOW)
    typist = user.script("type.py", TYPIST)
    done = user.run("python3", typist, "qsub", "-I", *SCATTERED, *variables, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "status is 0" in done.stdout, done.stdout
    assert len(ranks_of(done.stdout.replace("\r", ""))) == 4


def test_on_a_single_node(lone_user):
    """A server with one node: both ranks on it, and mpirun needs no remote shell."""
    lone_user.script("show.py", SHOW)
    number = lone_user.submit("-l", "select=1:ncpus=2:mpiprocs=2", "-V", "-v", "PROGRAM=--tee all show.py", ROOT / "pbs/collective.pbs")
    status, output = lone_user.wait_for_end(number)
    assert status == 0, output
    assert ranks_of(output) == ["0 local 0 on node1", "1 local 1 on node1"]


def test_the_nodes_are_checked(user):
    file = user.script("check.sh", "cd $PBS_O_WORKDIR && exec dtrain-launch --check\n")
    number = user.submit(*SCATTERED, "-V", "-j", "oe", file)
    status, output = user.wait_for_end(number)
    assert status == 0, output
    assert "pbs_tmrsh" in output


@pytest.mark.skipif(OMPI5 is None, reason="DTRAIN_OMPI5 names no mpirun of an Open MPI 5.0")
def test_with_open_mpi_5(user):
    no_ssh = NoSsh(user.folder)
    (no_ssh.folder / "ssh").chmod(0o755)
    user.profile(f"PATH={no_ssh.folder}:{pathlib.Path(OMPI5).parent}:{BUILD}/src/bin:$PATH\n")
    user.script("show.py", SHOW)
    number = user.submit(*SCATTERED, "-v", "PROGRAM=--tee all show.py", ROOT / "pbs/collective.pbs")
    status, output = user.wait_for_end(number)
    assert status == 0, output
    assert len(ranks_of(output)) == 4 and len(set(hosts_of(output))) == 2
    assert not no_ssh.mark.exists(), no_ssh.mark.read_text()
