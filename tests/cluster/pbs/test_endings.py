# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How jobs of a real PBS server end: by themselves, with an error, by qdel, at their time limit, to be run again. Oracles: the
exit status that PBS keeps (qstat -x), what programs wrote when they got SIGTERM, the report of dtrain-launch in the job's
output; and that nothing is left on any node, which the fixture looks at."""
from conftest import ROOT
from test_files import SCATTERED

# 256 and the signal, as PBS counts what its shell was ended by; its own numbers are below 0.
ENDED_AT_WALLTIME = -29

EXIT_7 = """
import os, sys, time
if os.environ["RANK"] == "3":
    print("no such sample: 4711", file=sys.stderr)
    sys.exit(7)
time.sleep(1000)
"""

# A checkpoint takes some of the 10 seconds that PBS leaves between SIGTERM and SIGKILL.
SAVING = """
import os, signal, sys, time
rank = os.environ["RANK"]
def save(number, frame):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3)
    open("saved." + rank, "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
open("up." + rank, "w").close()
while True: time.sleep(0.1)
"""

STUBBORN = """
import os, signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["setsid", "sleep", "1000"])
open("up." + os.environ["RANK"], "w").close()
time.sleep(1000)
"""


def start_on_two_nodes(user, program, *options, ranks=4):
    """The number of a job whose ranks all run."""
    user.script("program.py", program)
    number = user.submit(*SCATTERED, "-V", *options, "-v", "PROGRAM=program.py", ROOT / "pbs/collective.pbs")
    for rank in range(ranks):
        user.wait_for_file(f"up.{rank}")
    return number


def saved(user, ranks=4):
    return [rank for rank in range(ranks) if (user.folder / f"saved.{rank}").exists()]


def test_a_rank_that_exits_7(user):
    user.script("program.py", EXIT_7)
    number = user.submit(*SCATTERED, "-V", "-v", "PROGRAM=program.py", ROOT / "pbs/collective.pbs")
    status, output = user.wait_for_end(number)
    assert status == 7, output
    report = output[output.index("dtrain-launch: rank "):]
    assert report.startswith("dtrain-launch: rank 3 on ") and report.splitlines()[0].endswith("the program ended with exit code 7"), output
    assert "no such sample: 4711" in report and "the trainer process with rank=[3] was aborted" in report


def test_qdel_lets_programs_write_a_checkpoint(user):
    number = start_on_two_nodes(user, SAVING)
    user.check("qdel", number)
    user.wait_for_end(number)
    assert saved(user) == [0, 1, 2, 3]


def test_qdel_ends_programs_that_do_not_listen(user):
    number = start_on_two_nodes(user, STUBBORN)
    user.check("qdel", number)
    user.wait_for_end(number)


def test_a_job_that_pbs_forgets_at_once_ends_on_all_nodes(user):
    number = start_on_two_nodes(user, STUBBORN)
    user.check("qdel", "-W", "force", number)


def test_the_time_limit_ends_programs_that_do_not_listen(user):
    number = start_on_two_nodes(user, STUBBORN, "-l", "walltime=00:00:15")
    status, output = user.wait_for_end(number)
    assert status == ENDED_AT_WALLTIME and "walltime" in output, output


def test_the_time_limit_lets_programs_write_a_checkpoint(user):
    number = start_on_two_nodes(user, SAVING, "-l", "walltime=00:00:15")
    status, output = user.wait_for_end(number)
    assert "walltime" in output and saved(user) == [0, 1, 2, 3]
    assert status == ENDED_AT_WALLTIME, output


AGAIN = """
import os, sys, time
rank = os.environ["RANK"]
second = os.path.exists("up." + rank)
open("up." + rank, "w").close()
if not second: time.sleep(1000)
print("second run of rank", rank, flush=True)
"""


def test_a_job_that_is_run_again(user):
    number = start_on_two_nodes(user, AGAIN, "-r", "y")
    done = user.cluster.control.run(user.bin / "qrerun", number)
    assert done.returncode == 0, done.stderr
    status, output = user.wait_for_end(number)
    assert status == 0, output
    assert "second run of rank 0" in output and int(user.info(number)["run_count"]) == 2
    for rank in range(4):
        assert f"second run of rank {rank}" in (user.folder / "log" / number / f"workerlog.{rank}").read_text()
