# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/tutorial.md, from its first to its last, typed on two virtual nodes with Slurm by somebody who has dtrain
installed in ~/dtrain.

Oracle: the page. What it shows of a command's output is printed, but for numbers and the lines that `...` stands for, and the
statuses that it shows are those of the commands.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from conftest import VISIBLE, environment  # noqa: E402
from documents import all_blocks  # noqa: E402
from virtual_cluster import VirtualCluster, why_not  # noqa: E402
from whole_jobs import BUILD, ROOT  # noqa: E402

PROMPT = re.compile(r"(\w*)\$ (.*)")
# Lines for others, and one that needs counters of the kernel that not all machines have.
UNSAID = ("...", "  hint: the kernel's OOM killer did not do it, by its counters")
# Open MPI 5 may end all neighbours of a killed rank before they are told to stop.
ENDED_BY_OPEN_MPI = "\nended by Open MPI, which lost its connection to another rank: "
# A rank that was just reading the killed one's memory may give up, and end the others, before they are told to stop.
GAVE_UP = re.compile(r"^failed too: rank [23] on node2: .*; error: \w+ number \d+ waited 0\.0 s for rank .* has ended\)", re.M)
# Columns, as on a terminal. With Slurm 22.05 and PMIx 4.2 of Debian 12, on a busy machine, a rank of one job in twenty crashes in
# Open MPI's MPI_Init when PMIx shares data in memory (3 of 65 jobs; none of 99 with this variable).
TERMINAL = "ls() { command ls -C -w 200 \"$@\"; }\nexport PMIX_MCA_gds=hash\n"


@pytest.fixture
def cluster():
    if (reason := why_not(slurm=True)) is not None:
        pytest.skip(reason)
    if (sanitizers := option("b_sanitize")) != "none":
        pytest.skip(f"a program outside the build has no {sanitizers} sanitizer to link libdtrain with")
    with VirtualCluster(2, slurm=True, visible=VISIBLE, environment=environment) as nodes:
        yield nodes


def option(name):
    options = json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text())
    return next(each["value"] for each in options if each["name"] == name)


def install(home):
    destination = home / "destination"
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", destination], check=True, capture_output=True, timeout=300)
    shutil.move(destination / option("prefix").lstrip("/"), home / "dtrain")
    shutil.rmtree(destination)
    (home / "dtrain-sources").symlink_to(ROOT)


def commands():
    """(prompt, command, lines that it prints), in the order of the page. In place of a prompt "file": what is written; "output":
    what the commands before print at last."""
    for block in all_blocks("sh", "console"):
        if block.page != "docs/tutorial.md":
            continue
        if block.language == "sh":
            yield ("file", block.named("file")[0], [block.text]) if block.note else ("", block.text, [])
            continue
        found = []
        for line in block.text.splitlines():
            if match := PROMPT.fullmatch(line):
                found.append((*match.groups(), []))
            elif found:
                found[-1][2].append(line)
            else:
                found.append(("output", "", [line]))
        yield from found


def words_of(line):
    """Those that do not change from run to run, or from machine to machine."""
    return [word for word in line.split() if not re.search(r"\d", word) and word not in ("-", "KiB", "MiB", "GiB")]


class Session:
    """Terminals on the nodes, all in the folder and with the variables that the page's first commands lead to."""

    def __init__(self, cluster):
        self.cluster, self.before, self.status, self.jobs = cluster, "", 0, 0
        self.running, self.killed = [], False  # a job of both nodes: (command, what it prints, its process) of each

    def goes_beside(self, command):
        """The job of both nodes."""
        return command.startswith(("dtrain-launch status", "pkill")) or (" --ips " in command and len(self.running) == 1)

    def start(self, prompt, command):
        node = self.cluster[int(prompt.removeprefix("node") or 1)]
        return node.start("bash", "-c", TERMINAL + self.before + command, cwd=self.cluster.home, stderr=subprocess.STDOUT)

    def expect(self, command, printed, shown):
        printed_lines = [words_of(line) for line in printed.splitlines()]
        for line in shown:
            line = line.replace("/home/me", str(self.cluster.home))
            if line.startswith("then stopped by") and (ENDED_BY_OPEN_MPI in printed or GAVE_UP.search(printed)):
                continue
            assert line in UNSAID or words_of(line) in printed_lines, f"{command}: nothing printed {line!r}\n{printed}"

    def run(self, prompt, command, shown):
        if command == "echo $?":
            assert shown == [str(self.status)]
            return
        if " --ips " in command and "--check" not in command:
            self.running.append((command, shown, self.start(prompt, command)))
            return
        if command == "dtrain-launch status":
            self.wait(lambda: " 4/4 " in self.start("", command).communicate(timeout=60)[0])
        if command.startswith("pkill"):  # when there is something to go on from
            self.killed = True
            self.wait(lambda: self.file("checkpoints/latest").read_text() >= "epoch-000033")
        if command == "./ranks digits.h5 36 --resume":  # three epochs more than the job had when it was killed
            done = int(re.search(r"\d+", self.file("checkpoints/latest").read_text())[0])
            command = command.replace("36", str(done + 3))
        child = self.start(prompt, command)
        if "--max_restart" in command:  # "somebody kills a rank", who is no command of the page
            self.wait(lambda: self.cluster[1].run("pkill", "-9", "-n", "ranks").returncode == 0)
        printed = child.communicate(timeout=180)[0]
        self.status = child.returncode
        assert self.status == 0, f"{command}: {self.status}\n{printed}"
        self.expect(command, printed, shown)
        if command.startswith("sbatch"):
            self.jobs += 1
            assert shown == [f"Submitted batch job {self.jobs}"]
            self.wait(self.job_has_ended, self.job_details)
            assert self.state() == "COMPLETED", self.job_details()

    def join(self):
        """The end of the job of both nodes. Returns what the first prints, whose status is the job's."""
        printed = [child.communicate(timeout=180)[0] for _, _, child in self.running]
        for (command, shown, child), text in zip(self.running, printed):
            assert (child.returncode != 0) == self.killed, f"{command}: {child.returncode}\n{text}"
            self.expect(command, text, shown)
        self.status = self.running[0][2].returncode
        self.running, self.killed = [], False
        return printed[0]

    def file(self, name):
        return self.cluster.home / "digits" / name

    def state(self):
        return re.search(r"JobState=(\w+)", self.cluster.control.check("scontrol", "show", "job", self.jobs))[1]

    def job_has_ended(self):
        return self.state() not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")

    def job_details(self):
        files = [self.file(f"digits-{self.jobs}.out"), *sorted(self.file(f"log/{self.jobs}").glob("workerlog.*")),
                 *sorted(self.cluster.folder.glob("log/slurm*"))]
        return "\n".join([self.cluster.control.check("scontrol", "show", "job", self.jobs),
                          *(f"{file.name}:\n{file.read_text()[-4000:]}" for file in files if file.exists())])

    @staticmethod
    def wait(condition, describe=str, timeout=240):
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, describe()
            time.sleep(.1)


def test_the_commands_of_the_tutorial(cluster):
    install(cluster.home)
    session = Session(cluster)
    for prompt, command, shown in commands():
        last = session.join() if session.running and not session.goes_beside(command) else ""
        if prompt == "file":
            session.file(command).write_text(shown[0])
        elif prompt == "output":
            session.expect("the job of both nodes", last, shown)
        else:
            session.run(prompt, command, shown)
        if command.startswith("export"):
            exports = re.findall(r"^export .*$", command, re.M)
            session.before = "\n".join([*exports, "cd ~/digits"]) + "\n"
    assert cluster.left_behind() == {}
