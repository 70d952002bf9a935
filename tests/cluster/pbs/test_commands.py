# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""dtrain-launch's commands for batch jobs, typed by an ordinary user on the machine of the PBS server, of which the job's nodes
are others. Oracles: PBS' own qstat, the programs' output."""
from conftest import LAUNCH

WAITING = """
import os, socket, time
print("rank", os.environ["RANK"], "on", socket.gethostname(), flush=True)
def waits_for_go():
    while not os.path.exists("go"): time.sleep(0.1)
waits_for_go()
print("rank", os.environ["RANK"], "goes", flush=True)
"""


def submitted(user, *options):
    done = user.launch("submit", "--scheduler", "pbs", "--nodes", 2, "--nproc_per_node", 2, "--time", 10, *options, "waiting.py")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[0].removeprefix("job ")


def wait_until_it_runs(user, number, ranks="4/4"):
    user.wait_for(lambda: f" {ranks} " in user.launch("status", number).stdout, f"all ranks of {number}")


def test_a_job_is_submitted_followed_and_ends(user):
    user.script("waiting.py", WAITING)
    number = submitted(user)
    wait_until_it_runs(user, number)
    assert user.info(number)["job_state"] == "R"
    shown = user.launch("status", number).stdout
    assert " running " in shown and shown.count("waiting.py") == 1, shown
    follower = user.start(LAUNCH, "logs", "-f", "--rank", "all", number)
    out = ""
    while out.count("] rank ") < 4:  # what was printed before it came
        line = follower.stdout.readline()
        assert line, out + follower.communicate()[1]
        out += line
    (user.folder / "go").touch()
    rest, err = follower.communicate(timeout=120)
    out += rest
    assert follower.returncode == 0, out + err
    lines = [line.partition("] ")[2].split() for line in out.splitlines() if "] rank " in line]
    assert sorted(line[1] for line in lines if line[2] == "goes") == ["0", "1", "2", "3"]
    assert len({line[3] for line in lines if line[2] == "on"}) == 2
    user.wait_for_state(number, ("F", ))
    assert user.info(number)["Exit_status"] == 0


def test_stacks_show_where_each_rank_is_and_cancel_ends_the_job(user):
    user.script("waiting.py", WAITING)
    number = submitted(user)
    wait_until_it_runs(user, number)
    stacks = user.launch("stacks", number)
    assert stacks.returncode == 0, stacks.stderr
    for rank in range(4):
        assert f"rank {rank}" in stacks.stdout, stacks.stdout
    assert user.info(number)["job_state"] == "R"
    cancelled = user.launch("cancel", number)
    assert cancelled.returncode == 0 and "has ended" in cancelled.stdout, cancelled.stdout + cancelled.stderr
    user.wait_for_state(number, ("F", ))


def test_cancel_now_kills_it(user):
    user.script("waiting.py", WAITING)
    number = submitted(user)
    wait_until_it_runs(user, number)
    assert user.launch("cancel", "--now", number).returncode == 0
    user.wait_for_state(number, ("F", ))


def test_a_job_that_waits_is_shown_with_pbs_reason_and_taken_out(user):
    user.script("waiting.py", WAITING)
    number = submitted(user, "--cpus", 99)
    user.wait_for(lambda: "Insufficient amount" in user.launch("status", number).stdout, "PBS' reason")
    shown = user.launch("status", number).stdout
    assert f"{number} is pending: " in shown and user.info(number)["comment"] in shown, shown
    assert user.launch("cancel", number).returncode == 0
    assert user.launch("status").stdout == "no job of yours is running or in a queue\n"
