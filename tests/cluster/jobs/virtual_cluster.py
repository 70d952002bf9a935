#!/usr/bin/python3
# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Machines of a cluster on this one: each node has its own network, host name, processes, /tmp, /dev/shm and sshd, and
on demand there are Slurm (two made-up GPUs a node), etcd, PBS (pbs_server.py), and users that only the nodes know.

Nothing of it can be seen outside: a holder process keeps the namespaces, and killing it ends everything in them. So
several clusters can stand at the same time, all with nodes node1, node2, ... at 10.77.0.1, 10.77.0.2, ..., and at
fd00:77::1, fd00:77::2, ..., where only node1-v6, node2-v6, ... lead. The nodes
share the file system below `shared` (as an NFS home is shared); /tmp and /dev/shm are each node's own.

By hand: `virtual_cluster.py up N [--slurm] [--etcd] [--pbs PREFIX]` and, elsewhere, the commands that it then prints.
"""
import contextlib
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import mount_namespace  # noqa: E402
from pbs_server import PbsServer  # noqa: E402

CONTROL = "ctl"
CONTROL_ADDRESS = "10.77.0.254"
NAMESPACES = ("--net", "--uts", "--pid", "--ipc")  # and mounts

SLURM_CONF = """\
ClusterName=virtual
SlurmctldHost=ctl(10.77.0.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/run/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=bf_interval=2,sched_interval=2
ReturnToService=2
KillWait=5
MpiDefault=pmix
GresTypes=gpu
JobRequeue=1
{nodes}
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
"""

SSH_CONFIG = """\
Host node* ctl 10.77.0.* fd00:77::*
  IdentityFile {folder}/ssh/id-of-%u
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
  KexAlgorithms curve25519-sha256
"""  # the exchange of keys that OpenSSH prefers takes 20 ms of a core, for each of a thousand connections


FIRST_USER = 54321


def why_not(slurm=False, etcd=False, pbs=None):
    """Why this machine cannot carry a virtual cluster; None when it can."""
    if os.geteuid() != 0:
        return "virtual nodes need root"
    needed = {"ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "ssh": "openssh-client",
              "/usr/sbin/sshd": "openssh-server"}
    if slurm:
        needed |= {"slurmctld": "slurmctld", "slurmd": "slurmd", "srun": "slurm-client", "munged": "munge"}
    if etcd:
        needed |= {"etcd": "etcd-server"}
    if pbs:
        if (reason := PbsServer.why_not(pbs)) is not None:
            return reason
    for program, package in needed.items():
        if shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None:
            return f"{program} (Debian package {package}) is not installed"
    try:
        words = mount_namespace.unshare(*NAMESPACES)
    except RuntimeError as error:
        return str(error)
    probe = subprocess.run([*words, "--fork", "--mount-proc", "ip", "link", "add", "veth-a", "type", "veth",
                            "peer", "name", "veth-b"], capture_output=True, text=True)
    return None if probe.returncode == 0 else \
        f"this machine allows no namespaces: {probe.stderr.strip()}; a container needs CAP_SYS_ADMIN and CAP_NET_ADMIN"


def _child_of(parent):
    """The pid of what unshare or nsenter forked into its namespaces; None when that has ended already."""
    while parent.poll() is None:
        children = pathlib.Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        if children:
            return int(children[0])
        time.sleep(0.002)
    return None


class Node:
    """One virtual machine."""

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self._holder = subprocess.Popen(
            [*mount_namespace.unshare(*NAMESPACES), "--fork", "--kill-child", "--mount-proc", "/bin/sh", "-c",
             self._setup(), "sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.init = _child_of(self._holder)  # pid 1 of the node, as seen from outside
        answer = self._holder.stdout.readline()
        if answer != "up\n":
            raise RuntimeError(f"{name} does not come up: {answer}{self._holder.stdout.read()}")

    def _setup(self):
        folder, own_tmp = self.cluster.folder, self.cluster.folder / f"tmp-{self.name}"
        own_tmp.mkdir()
        own_tmp.chmod(0o1777)
        lines = ["set -e", f"hostname {self.name}", "ip link set lo up", f"mount --bind {folder}/hosts /etc/hosts",
                 f"mount --bind {folder}/ssh/config /etc/ssh/ssh_config",
                 "mount -t tmpfs -o mode=1777 tmpfs /dev/shm"]
        lines += [f"mount --bind {path} {mount_point}" for path, mount_point in self.cluster.mounts_of(self.name)]
        if self.name != CONTROL:
            kept = [path for path in self.cluster.visible if str(path).startswith("/tmp/")]
            for number, path in enumerate(kept):
                lines += [f"mkdir -p {own_tmp}/.kept{number}", f"mount --bind {path} {own_tmp}/.kept{number}"]
            lines.append(f"mount --rbind {own_tmp} /tmp")
            for number, path in enumerate(kept):
                lines += [f"mkdir -p {path}", f"mount --bind /tmp/.kept{number} {path}"]
        return "\n".join(lines + ["echo up", "exec cat >/dev/null"])  # until this script ends

    def enter(self, *argv):
        """The command line that runs `argv` on this node, in the current folder."""
        return self._entered(os.getcwd(), *argv)

    def _entered(self, folder, *argv):
        return [*mount_namespace.enter(self.init, folder, *NAMESPACES), "--", *map(str, argv)]

    def start(self, *argv, env=None, cwd=None, user=None, **popen):
        """A command on this node, of root or of one of the cluster's users. `.inner` of the result is the pid of the command
        itself, as seen from outside."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **popen}
        if user:
            number = self.cluster.users[user]
            argv = ("setpriv", f"--reuid={number}", f"--regid={number}", "--clear-groups", "--", *argv)
            env = {"HOME": self.cluster.home_of(user), "USER": user, "LOGNAME": user, **(env or {})}
        child = subprocess.Popen(self._entered(cwd or self.cluster.shared, *argv), env=self.cluster.environment(**(env or {})), **options)
        child.inner = _child_of(child)
        return child

    def run(self, *argv, env=None, cwd=None, user=None, timeout=60, **popen):
        child = self.start(*argv, env=env, cwd=cwd, user=user, **popen)
        try:
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            if child.inner:
                os.kill(child.inner, signal.SIGKILL)
            out, err = child.communicate()
            raise AssertionError(f"{self.name}: no end after {timeout} s: {argv}\n{out}\n{err}")
        return subprocess.CompletedProcess(argv, child.returncode, out, err)

    def check(self, *argv, **options):
        done = self.run(*argv, **options)
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}: {argv} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def processes(self):
        """{pid seen from outside: command line} of all that runs on this node but what makes it a node."""
        own = os.readlink(f"/proc/{self.init}/ns/pid")
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == self.init:
                continue
            try:
                if os.readlink(entry / "ns/pid") == own:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    found[int(entry.name)] = " ".join(word.decode(errors="replace") for word in words if word)
            except OSError:
                pass
        return found

    def jobs_processes(self):
        """Those of them that carry a job's token or are launchers, workers or daemons of MPI."""
        names = ("dtrain", "mpirun", "orted", "prted", "prterun", "srun")
        found = {}
        for pid, command in self.processes().items():
            try:
                of_job = b"DTRAIN_JOB_TOKEN=" in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                continue
            if of_job or pathlib.Path(command.split(" ")[0]).name.startswith(names):
                found[pid] = command
        return found

    def processes_of(self, user):
        """{pid seen from outside: command line} of all that runs on this node for one of the cluster's users. What has ended and
        is not asked how, as a node's first process never does, has no command line any more."""
        found = {}
        for pid, command in self.processes().items():
            try:
                if command and pathlib.Path(f"/proc/{pid}").stat().st_uid == self.cluster.users[user]:
                    found[pid] = command
            except OSError:
                pass
        return found

    def tmp(self, path):
        """Where this node's /tmp/`path` is, seen from outside."""
        return self.cluster.folder / f"tmp-{self.name}" / path

    def cut(self):
        """Pulls the network cable; heal() plugs it in again."""
        self.cluster.control.check("ip", "link", "set", f"to-{self.name}", "down")

    @contextlib.contextmanager
    def bad_link(self, **faults):
        """For as long as this is entered, the node's cable loses frames or is slow: see bad_link.py."""
        control, program = self.cluster.control, pathlib.Path(__file__).with_name("bad_link.py")
        cable = f"to-{self.name}"
        control.check("sh", "-c", "ip link add bad-far type veth peer name bad-near && "
                      f"ip link set {cable} nomaster && ip link set bad-far master switch up && ip link set bad-near up")
        control.check(sys.executable, program, "--whole", cable, "bad-far", "bad-near")
        self.check(sys.executable, program, "--whole", "eth0")
        options = [word for name, value in faults.items() for word in (f"--{name}", value)]
        child = control.start(sys.executable, program, cable, "bad-near", *options)
        try:
            if (line := child.stdout.readline()) != "up\n":
                raise RuntimeError(f"no bad link: {line}{child.stderr.read()}")
            yield
        finally:
            if child.poll() is None:
                os.kill(child.inner, signal.SIGKILL)
            child.communicate()
            control.check("sh", "-c", f"ip link del bad-far && ip link set {cable} master switch")
            self.cluster.wait_until(self.connected, f"{self.name}'s network")

    def heal(self):
        self.cluster.control.check("ip", "link", "set", f"to-{self.name}", "up")
        # The kernel may take a second to notice that the cable is in again.
        self.cluster.wait_until(self.connected, f"{self.name}'s network")

    def connected(self):
        probe = f"import socket; socket.create_connection(('{self.name}', 22), 0.2)"
        return self.cluster.control.run(sys.executable, "-c", probe).returncode == 0

    def end(self):
        if self._holder.poll() is None:
            self._holder.stdin.close()
            try:
                self._holder.wait(2)
            except subprocess.TimeoutExpired:
                self._holder.kill()
                self._holder.wait()
        self._holder.stdout.close()


class VirtualCluster:
    """`count` nodes and, beside them, the machine `ctl` for controllers. A context manager.

    `visible`: folders that stay visible on the nodes although they are below /tmp. `pbs`: where OpenPBS is installed;
    `users`: names of users that are not root."""

    def __init__(self, count, slurm=False, etcd=False, visible=(), environment=None, pbs=None, users=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dtrain-nodes.", dir="/var/tmp"))
        self.visible = [pathlib.Path(path).resolve() for path in visible]
        self.folder.chmod(0o755)
        self._base_environment = environment or (lambda: dict(os.environ))
        self._daemons = []
        self.nodes, self.control, self.slurm = [], None, slurm
        self.users = {user: FIRST_USER + number for number, user in enumerate(users)}
        self.pbs = PbsServer(self, pbs) if pbs else None
        try:
            for name in ("shared", "run", "log", "state", "ssh", "home"):
                (self.folder / name).mkdir(mode=0o755)
            self.shared = self.folder / "shared"
            self._write_files(count)
            self._make_users()
            if self.pbs:
                self.pbs.write_files([CONTROL] + [f"node{number}" for number in range(1, count + 1)])
            self.control = Node(self, CONTROL)
            self.nodes = [Node(self, f"node{number}") for number in range(1, count + 1)]
            self._connect()
            self._start_ssh()
            if slurm:
                self._start_slurm(count)
            if etcd:
                self.start_etcd()
            if self.pbs:
                self.pbs.start()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __getitem__(self, number):
        """node1 is 1."""
        return self.nodes[number - 1]

    def address(self, number):
        return f"10.77.0.{number}"

    def address_v6(self, number):
        return f"fd00:77::{number:x}"

    def addresses(self, count=None):
        return ",".join(self.address(number) for number in range(1, (count or len(self.nodes)) + 1))

    @property
    def home(self):
        return self.folder / "home"

    def home_of(self, user):
        return self.home / user

    def mounts_of(self, node):
        """(a file or folder, what it is mounted over on this node)..."""
        files = [(self.folder / name, f"/etc/{name}") for name in ("passwd", "group")] if self.users else []
        return files + (self.pbs.mounts_of(node) if self.pbs else [])

    def environment(self, **extra):
        env = self._base_environment() | {"HOME": str(self.home)}
        if self.slurm:
            env["SLURM_CONF"] = str(self.folder / "slurm.conf")
        return env | {name: str(value) for name, value in extra.items()}

    def jobs_processes(self):
        """{node: processes of jobs there}, nodes without any left out."""
        found = {node.name: node.jobs_processes() for node in [self.control, *self.nodes]}
        return {name: processes for name, processes in found.items() if processes}

    def left_behind(self, timeout=8.0):
        """Processes of jobs on any node that still live after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            left = self.jobs_processes()
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.1)

    def clear(self):
        """Ends whatever jobs left, so that the next test begins on empty nodes."""
        if self.slurm:
            self.control.run("scancel", "--user=root", "--full")
        for processes in self.jobs_processes().values():
            for pid in processes:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        for node in self.nodes:
            if not node.connected():
                node.heal()
        if self.slurm:  # which may be some time in noticing that jobs are gone
            self.wait_until(lambda: self.slurm_states() == {"idle"}, "Slurm's nodes", timeout=150)

    def close(self):
        for node in reversed([*([self.control] if self.control else []), *self.nodes]):
            node.end()
        for daemon in self._daemons:
            daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write_files(self, count):
        hosts = ["127.0.0.1 localhost", "::1 localhost ip6-localhost", f"{CONTROL_ADDRESS} {CONTROL}"]
        hosts += [f"{self.address(number)} node{number}" for number in range(1, count + 1)]
        hosts += [f"{self.address_v6(number)} node{number}-v6" for number in range(1, count + 1)]
        (self.folder / "hosts").write_text("\n".join(hosts) + "\n")
        for key in ("host", "id"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "ssh" / key], check=True)
        shutil.copy(self.folder / "ssh/id.pub", self.folder / "ssh/authorized")
        shutil.copy(self.folder / "ssh/id", self.folder / "ssh/id-of-root")
        (self.folder / "ssh/config").write_text(SSH_CONFIG.format(folder=self.folder))

    def _make_users(self):
        for name in ("passwd", "group"):
            lines = pathlib.Path("/etc", name).read_text().splitlines()
            lines += [f"{user}:x:{number}:{f'{number}::{self.home_of(user)}:/bin/bash' if name == 'passwd' else ''}"
                      for user, number in self.users.items()]
            (self.folder / name).write_text("\n".join(lines) + "\n")
        for user, number in self.users.items():
            self.home_of(user).mkdir()
            key = self.folder / f"ssh/id-of-{user}"
            shutil.copy(self.folder / "ssh/id", key)
            for path in (self.home_of(user), key):
                os.chown(path, number, number)

    def _connect(self):
        self.control.check("sh", "-c", "ip link add switch type bridge && ip link set switch up && "
                           f"ip addr add {CONTROL_ADDRESS}/24 dev switch")
        for number, node in enumerate(self.nodes, 1):
            self.control.check("ip", "link", "add", f"to-{node.name}", "type", "veth", "peer", "name", "far")
            # The other end moves by the pid that the controller's namespaces do not know: from outside.
            subprocess.run(["nsenter", "-t", str(self.control.init), "--net", "ip", "link", "set", "far", "netns",
                            str(node.init)], check=True)
            self.control.check("ip", "link", "set", f"to-{node.name}", "master", "switch", "up")
            node.check("sh", "-c", f"ip link set far name eth0 && ip addr add {self.address(number)}/24 dev eth0 && "
                       f"ip addr add {self.address_v6(number)}/64 dev eth0 nodad && ip link set eth0 up && ip route add default dev eth0")

    def daemon(self, node, *argv, log, env=None):
        """A program that runs until the cluster is closed."""
        with open(self.folder / "log" / log, "ab") as output:
            child = node.start(*argv, env=env, cwd="/", stdout=output, stderr=subprocess.STDOUT)
        self._daemons.append(child)
        return child

    def _start_ssh(self):
        os.makedirs("/run/sshd", exist_ok=True)
        for node in self.nodes:
            self.daemon(node, "/usr/sbin/sshd", "-D", "-h", self.folder / "ssh/host", "-o",
                        f"AuthorizedKeysFile={self.folder}/ssh/authorized", "-o", "StrictModes=no", "-o",
                        "PermitRootLogin=yes", "-o", "UsePAM=no", "-o", "PidFile=none", log=f"sshd-{node.name}.log")

    def _start_slurm(self, count):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        nodes = [f"NodeName=node{n} NodeAddr={self.address(n)} CPUs=2 Gres=gpu:2 State=UNKNOWN" for n in range(1, count + 1)]
        (self.folder / "slurm.conf").write_text(SLURM_CONF.format(folder=self.folder, nodes="\n".join(nodes)))
        (self.folder / "gres.conf").write_text(f"NodeName=node[1-{count}] Name=gpu File=/dev/tty[1-2]\n")
        # Named, as slurmd looks for what is mounted otherwise and ends where that is nothing (a chroot): nothing here uses it.
        (self.folder / "cgroup.conf").write_text("CgroupAutomount=no\nCgroupPlugin=cgroup/v1\n")
        run = self.folder / "run"
        self.daemon(self.control, "munged", "--foreground", "--force", f"--key-file={key}", f"--socket={run}/munge.socket",
                    f"--pid-file={run}/munged.pid", f"--log-file={self.folder}/log/munged.log",
                    f"--seed-file={self.folder}/munge.seed", log="munged.out")
        self.wait_until(lambda: (run / "munge.socket").exists(), "munged")
        self.daemon(self.control, "slurmctld", "-D", "-f", self.folder / "slurm.conf", log="slurmctld.out")
        for node in self.nodes:
            self.start_slurmd(node)
        self.wait_until(lambda: self.slurm_states() == {"idle"}, "Slurm's nodes")

    def start_slurmd(self, node):
        return self.daemon(node, "slurmd", "-D", "-N", node.name, "-f", self.folder / "slurm.conf",
                           log=f"slurmd-{node.name}.out")

    def slurm_states(self):
        return set(self.control.run("sinfo", "-h", "-o", "%T").stdout.split())

    def start_etcd(self):
        """etcd on ctl, with the data of the one before; returns it, to be killed."""
        own = f"http://{CONTROL_ADDRESS}:2379"
        etcd = self.daemon(self.control, "etcd", "--data-dir", self.folder / "etcd", "--listen-client-urls", own,
                           "--advertise-client-urls", own, "--listen-peer-urls", "http://127.0.0.1:2380", log="etcd.log")
        url = f"http://{CONTROL_ADDRESS}:2379/health"
        fetch = f"import urllib.request as u; u.urlopen('{url}', timeout=1)"
        self.wait_until(lambda: self.control.run(sys.executable, "-c", fetch).returncode == 0, "etcd")
        return etcd

    @staticmethod
    def wait_until(condition, what, timeout=40.0):
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what} not ready after {timeout:.0f} s")
            time.sleep(0.1)


def main(words):
    if len(words) < 2 or words[0] != "up" or not words[1].isdigit():
        print(__doc__)
        return 2
    pbs = words[words.index("--pbs") + 1] if "--pbs" in words[:-1] else None
    wanted = {"slurm": "--slurm" in words, "etcd": "--etcd" in words, "pbs": pbs}
    if (reason := why_not(**wanted)) is not None:
        print(reason, file=sys.stderr)
        return 1
    root = pathlib.Path(__file__).resolve().parents[3]
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell in the background has the first one ignored
        signal.signal(number, signal.default_int_handler)
    with VirtualCluster(int(words[1]), visible=[root], users=["trainee"] if pbs else [], **wanted) as cluster:
        for node in [cluster.control, *cluster.nodes]:
            conf = f"env SLURM_CONF={cluster.folder}/slurm.conf " if cluster.slurm else ""
            print(f"on {node.name}: {conf}{shlex.join(node.enter())} CMD")
        print(f"shared folder: {cluster.shared}\nup until this program is interrupted", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
