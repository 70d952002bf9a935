# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md and of the pages below docs/: blocks `sh`, and the lines of blocks `console` behind a prompt.

They are typed in the order of their page into one folder, which has what the page speaks of, and each must end well. What
cannot be done here, or not by a test, is named in the comment before the block (`<!-- test: stand-ins sbatch -->`), with its
reason in STAND_INS: a program of that name is called in its place, which complains of arguments that the true one does not know.

Oracle: the exit status; where commands are shown with what they print, also the words of the first line, without numbers
and names of files.
"""
import contextlib
import os
import re
import shlex
import shutil
import stat
import subprocess
import time

import pytest

from conftest import BUILD, LAUNCH, PYTHON, ROOT, clean_environment, run, skip_unless_several_programs
from documents import all_blocks

MACHINE = ROOT / "tests/jobs/data/two_sockets_eight_gpus.xml"
# A page whose commands need several nodes is one session there.
ON_NODES = {"docs/tutorial.md": "tests/cluster/jobs/test_tutorial_page.py"}
BLOCKS = [block for block in all_blocks("sh", "console") if block.page not in ON_NODES]
PROMPT = re.compile(r"\w*\$ (.*)")

INSTALLS = "installs packages, of other distributions than this one too"
SLURM = "needs Slurm: tests/cluster/jobs"
# In place of these: why.
STAND_INS = {
    "apt-get": INSTALLS, "dnf": INSTALLS, "zypper": INSTALLS, "pacman": INSTALLS, "spack": INSTALLS,
    "module": "is a function of the shell where there are environment modules",
    "sbatch": SLURM, "srun": SLURM, "scontrol": SLURM,
    "dtrain-launch": "needs GPUs, other nodes or etcd: the true one says with --dry-run what it would start, or with --info what it understood",
    "dtrain-run": "needs GPUs or other nodes: tests/cluster/jobs",
    "torchrun": "comes with torch: tests/compat/test_torch_backend.py",
    "mpiexec.mpich": "needs a build with MPICH: tests/run -Dmpi=mpich",
    "meson": "configures this tree anew, and downloads: tests/jobs/test_packages.py",
    "examples/quickstart": "installs packages and builds everything",
    "tests/run": "runs this test, too",
    "tests/mutate": "builds the tests of a room again for each fault: tests/support/test_mutations.py",
    "tests/support/openpbs": "builds a PBS server from sources that are not here: tests/support/test_openpbs.py",
    "tests/cluster/jobs/virtual_cluster.py": "stands until somebody ends it: tests/cluster/jobs",
    "benchmarks/run": "takes minutes, and needs a quiet machine: tests/support/test_benchmarks.py",
    "pip": INSTALLS, "python/build_wheel": "builds everything: tests/jobs/test_wheel.py",
    "docs/packages/make-deb": "builds everything: tests/jobs/test_packages.py",
    "docs/packages/make-tarball": "builds everything: tests/jobs/test_packages.py",
}
# Run as they are.
RUN = {"mpirun", "dtrain-launch", "dtrain-run", "dtrain-worker", "python3", "paste", "["}
IN_FRONT = {"exec"}  # of a command

# known HELP WORD...: the options among the words are in that text, and those of meson (-Dname=value) in meson_options.txt.
KNOWN = """
known() {
    help=$1
    shift
    for word in "$@"; do
        case $word in
            --) return ;;
            -D*) word=${word#-D}; grep -q "^option('${word%%=*}'" "$ROOT/meson_options.txt" ;;
            -*) grep -qe "${word%%=*}\\b" "$help" ;;
        esac || { echo "$word: no such option" >&2; return 1; }
    done
}
"""
STAND_IN = {
    "dtrain-launch": """
        how=--dry-run
        case " $* " in *" --check "* | *" --scale "* | *" clean"* | *" scale"*) how=--info ;; esac
        ips=$(echo " $*" | sed -n 's/.* --ips \\([^ ,]*\\).*/\\1/p')
        exec env HWLOC_XMLFILE=$MACHINE $LAUNCH $how ${ips:+--host "$ips"} "$@" """,
    "dtrain-run": """
        "${LAUNCH%/*}/dtrain-run" --help >help
        for word in "$@"; do case $word in *.py) break ;; -*) grep -qe "${word%%=*}\\b" help ;; esac; done""",
    "scontrol": """[ "$*" = "show hostnames" ]; printf '10.0.0.1\\n10.0.0.2\\n'""",
    "sbatch": """
        while case ${1-} in -*) true ;; *) false ;; esac; do shift; done
        [ -r "$1" ] && sh -n "$1" """,
    "srun": """
        while case ${1-} in -[a-zA-Z]) shift ;; --*=*) true ;; *) false ;; esac; do shift; done
        exec "$@" """,
    "mpiexec.mpich": """[ "$1" = -np ] && [ -r "$4" ]""",
    "meson": """
        PATH=/usr/bin:/bin
        meson "$1" --help >help
        known help "$@"
        for word in "$@"; do case $word in --force-fallback-for=*)
            for wrap in $(echo "${word#*=}" | tr , ' '); do [ -r "$ROOT/subprojects/$wrap.wrap" ]; done
        esac; done""",
    "tests/run": """$ROOT/tests/run --help >help; known help "$@" """,
    "benchmarks/run": """
        $ROOT/benchmarks/run --help >help; known help "$@"
        for word in "$@"; do case $word in -* | *.json | *' '*) ;; *) grep -qw -- "$word" help ;; esac; done""",
    "pip": """[ "$1" = install ]""",
    "python/build_wheel": """$ROOT/python/build_wheel --help >help; known help "$@" """,
    "docs/packages/make-deb": "[ $# -le 1 ]",
    "docs/packages/make-tarball": "[ $# -le 1 ]",
    "examples/quickstart": "[ $# = 0 ]",
}


def commands_of(block):
    """What is typed, as text for a shell."""
    if block.language == "sh":
        return block.text
    return "".join(match[1] + "\n" for line in block.text.splitlines() if (match := PROMPT.fullmatch(line)))


def programs_of(commands):
    """The programs that a shell would look for, the first words of its commands, and those of dtrain's that such a one starts."""
    found = set()
    for line in commands.replace("\\\n", " ").splitlines():
        at_begin = True
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        for word in words:
            if set(word) <= set("();|&"):
                at_begin = word != ")"
            elif at_begin and word not in IN_FRONT and not re.match(r"\w+=", word):
                found.add(word)
                at_begin = False
            elif word in ("dtrain-launch", "dtrain-worker"):
                found.add(word)
    return found


def without_category(block):
    """Programs of the block that nobody has said may be run here."""
    return programs_of(commands_of(block)) - RUN - set(block.named("stand-ins"))


def test_programs_are_the_first_words_of_commands():
    assert programs_of('A=1 b c | d -e "f | g" && h $(i j | k) l # m\n[ n ] || o "$0"\nexec p \\\n  q dtrain-launch r') == {
        "b", "d", "h", "i", "k", "[", "o", "p", "dtrain-launch"}


def test_every_command_is_run_or_has_a_stand_in_with_its_reason():
    """And nothing has one that is not needed."""
    used = set()
    for block in BLOCKS:
        named, programs = set(block.named("stand-ins")), programs_of(commands_of(block))
        assert not block.note or named, f"{block}: {block.note}"
        assert programs, f"{block}: no command"
        assert named <= programs, f"{block}: {named - programs} is not called"
        assert not without_category(block), f"{block}: {without_category(block)} is neither in RUN nor has it a stand-in"
        used |= programs - named
        assert named <= STAND_INS.keys(), block
    assert STAND_INS.keys() == {name for block in BLOCKS for name in block.named("stand-ins")}
    assert RUN == used
    assert STAND_IN.keys() <= STAND_INS.keys()


def test_stand_ins_of_programs_of_this_tree_are_for_programs_that_are_there():
    for name in STAND_INS:
        if "/" in name:
            assert os.access(ROOT / name, os.X_OK), name


def test_pages_for_several_nodes_have_their_test():
    for page, test in ON_NODES.items():
        assert page in (ROOT / test).read_text()


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/bash\nset -eu\n" + text + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def script_of(blocks, folder):
    """A shell's script that types the commands of the blocks, each with its own stand-ins in front of PATH."""
    programs = folder / "programs"
    for name in ("dtrain-launch", "dtrain-run", "dtrain-worker"):
        executable(programs / name, f'exec {BUILD}/src/bin/{name} "$@"')
    executable(programs / "python3", f'exec {PYTHON} "$@"')
    text = "set -eu -o pipefail\n"
    for number, block in enumerate(blocks):
        stand_ins = folder / f"stand-ins-{number}"
        for name in block.named("stand-ins"):
            parent = folder if "/" in name else stand_ins
            values = f"ROOT={shlex.quote(str(ROOT))}\nMACHINE={shlex.quote(str(MACHINE))}\nLAUNCH={shlex.quote(str(LAUNCH))}\n"
            executable(parent / name, values + KNOWN + STAND_IN.get(name, ""))
        text += f"PATH={stand_ins}:{programs}:/usr/bin:/bin\n"
        for command in commands_of(block).replace("\\\n", " ").splitlines():
            text += f"echo '{block}>>>' {shlex.quote(command)}\n{command}\n"
    return text


@pytest.fixture
def folder(tmp_path):
    """With what the pages speak of: small data, jobs of one epoch, a program."""
    for name in ("digits.h5", "digits.toml"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    (tmp_path / "examples").mkdir()
    shutil.copytree(ROOT / "examples", tmp_path / "examples", dirs_exist_ok=True, ignore=shutil.ignore_patterns("clicks", "quickstart"))
    shutil.copytree(ROOT / "slurm", tmp_path / "slurm")
    (tmp_path / "train.py").write_text("import os\nprint('rank', os.environ['PADDLE_TRAINER_ID'])\n")
    executable(tmp_path / "my_program", "true")
    digits = (ROOT / "examples/digits.toml").read_text()
    (tmp_path / "job.toml").write_text(digits.replace("epochs = 20", "epochs = 1"))
    smaller = [str(ROOT / "examples/make_clicks.py"), "--train", "4000", "--test", "1000"]
    (tmp_path / "make_clicks.py").write_text(f"import os, sys\nos.execv(sys.executable, [sys.executable, *{smaller!r}])\n")
    return tmp_path


def clicks(folder, settings=""):
    text = (ROOT / "examples/ctr.toml").read_text().replace('"checkpoints/ctr"', '"job"')
    (folder / "ctr.toml").write_text(text + settings)
    assert run([PYTHON, "make_clicks.py"], folder).returncode == 0


def clicks_in_a_cache(folder):
    clicks(folder)
    text = (folder / "ctr.toml").read_text()
    (folder / "ctr.toml").write_text(text.replace("[train]", 'cache = "cache"\n[train]', 1))


def digits_job(folder):
    pytest.importorskip("h5py", reason="h5py (Debian package python3-h5py) is not installed")
    (folder / "before.toml").write_text((folder / "digits.toml").read_text().replace("every = 5", "every = 20\nformat = \"directory\""))
    done = run([BUILD / "src/bin/dtrain-worker", "before.toml"], folder)
    assert done.returncode == 0, done.stderr


def python_scripts(folder):
    pytest.importorskip("numpy", reason="numpy (Debian package python3-numpy) is not installed")
    for block in all_blocks("python"):
        (folder / block.named("file")[0]).write_text(block.text)


# What lies in the folder beside that, by page.
PREPARED = {
    "docs/checkpoints.md": digits_job,
    "docs/data.md": clicks_in_a_cache,
    "docs/native-jobs.md": clicks,
    "docs/python.md": python_scripts,
    "docs/servers.md": lambda folder: clicks(folder, "\n[servers]\ncount = 2\n"),
}
PAGES = sorted({block.page for block in BLOCKS})


def words_of(line):
    """Those that do not change from run to run."""
    return [word for word in line.split() if not re.search(r"\d", word) and word.strip(",") not in ("KiB", "MiB", "GiB")]


def first_lines(block):
    """The first line that each command of the block prints, where it is shown."""
    lines = block.text.splitlines()
    return [after for line, after in zip(lines, lines[1:]) if PROMPT.fullmatch(line) and not PROMPT.fullmatch(after) and after != "..."]


@contextlib.contextmanager
def a_job_that_runs(folder, variables):
    """Beside the commands, for dtrain-launch to tell of."""
    (folder / "w.py").write_text("import time\ntime.sleep(600)\n")
    environment = clean_environment(**variables)
    child = subprocess.Popen([LAUNCH, "--quiet", "--nproc_per_node", "2", "--log_dir", "running", "w.py"], cwd=folder, env=environment)
    try:
        deadline = time.monotonic() + 60
        while " 2/2 " not in run([LAUNCH, "status"], folder, **variables).stdout:
            assert child.poll() is None and time.monotonic() < deadline
            time.sleep(.1)
        yield
    finally:
        child.terminate()
        child.wait(60)


BESIDE = {"docs/following.md": a_job_that_runs}


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_run(page, folder):
    assert PREPARED.keys() | BESIDE.keys() <= set(PAGES)
    if page in PREPARED:
        PREPARED[page](folder)
    blocks = [block for block in BLOCKS if block.page == page]
    assert not any(without_category(block) for block in blocks), "see the test above; nothing is run"
    script = script_of(blocks, folder)
    if " : -np " in script:
        skip_unless_several_programs()
    variables = {"HOME": folder, "DTRAIN_JOBS_DIR": folder / "jobs", "OMPI_MCA_rmaps_base_oversubscribe": 1,
                 "OMPI_MCA_mpi_yield_when_idle": 1, "LC_ALL": "C.UTF-8",
                 "PYTHONPATH": ROOT / "python", "DTRAIN_LIBRARY": BUILD / "src/libdtrain.so"}
    with BESIDE[page](folder, variables) if page in BESIDE else contextlib.nullcontext():
        done = run(["bash", "-c", script], folder, timeout=400, **variables)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    for block in blocks:
        if block.language == "console" and not block.note:
            printed = [words_of(line) for line in done.stdout.splitlines()]
            for line in first_lines(block):
                assert words_of(line) in printed, f"{block}: nothing printed {line!r}\n{done.stdout}"
