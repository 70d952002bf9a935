# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A PBS server on virtual nodes: server, scheduler, communication daemon and PostgreSQL on ctl, a MOM on each node. It is
OpenPBS as tests/support/openpbs installs it, set up by hand as its pbs_postinstall and pbs_habitat do for a whole machine:
these write into /etc, too."""
import pathlib
import shutil

SERVER = "ctl"
HOME_FOLDERS = {0o1777: ["spool", "undelivered"],
                0o755: ["aux", "mom_logs", "server_logs", "sched_logs", "comm_logs"],
                0o751: ["mom_priv", "mom_priv/jobs"],
                0o750: ["mom_priv/hooks", "mom_priv/hooks/tmp", "server_priv", "server_priv/accounting", "server_priv/jobs",
                        "server_priv/users", "server_priv/hooks", "server_priv/hooks/tmp", "sched_priv"],
                0o700: ["checkpoint"]}
DATABASE_USER = "postgres"
POSTGRES_SOCKETS = pathlib.Path("/var/run/postgresql")
# Each node has what the files of pbs/ ask for, whatever this machine has.
PROCESSORS, GPUS = 8, 2
SETTINGS = """\
create queue workq
set queue workq queue_type = Execution
set queue workq enabled = True
set queue workq started = True
set server default_queue = workq
set server flatuid = True
set server job_history_enable = True
create resource ngpus type = long, flag = nh
"""


class PbsServer:
    def __init__(self, cluster, prefix):
        self._cluster, self.prefix = cluster, pathlib.Path(prefix)

    @staticmethod
    def why_not(prefix):
        """Why there is no PBS server to be had from this installation; None when there is."""
        for program in ("sbin/pbs_server.bin", "sbin/pbs_mom", "sbin/pbs_sched", "sbin/pbs_comm", "bin/qsub", "etc/pbs.conf"):
            if not (pathlib.Path(prefix) / program).exists():
                return f"no OpenPBS with a server is installed in {prefix} ({program} is missing): tests/support/openpbs builds one"
        if shutil.which("psql") is None or shutil.which("pg_config") is None:
            return "psql or pg_config (Debian packages postgresql and libpq-dev) is not installed"
        return None

    def home(self, node):
        """PBS_HOME of this node, seen from outside: its daemons refuse one below /var/tmp, so that it is mounted elsewhere."""
        return self._cluster.folder / f"pbs-{node}"

    def mounts_of(self, node):
        sockets = [(self._sockets(), POSTGRES_SOCKETS)] if node == SERVER and POSTGRES_SOCKETS.exists() else []
        return [(self._conf(node), self.prefix / "etc/pbs.conf"), (self.home(node), self.prefix / "home"), *sockets]

    def _conf(self, node):
        return self._cluster.folder / f"pbs-{node}.conf"

    def _sockets(self):
        return self._cluster.folder / "postgres-sockets"

    def write_files(self, nodes):
        """All that has to be there before the nodes come up."""
        self._sockets().mkdir()
        self._sockets().chmod(0o777)
        for node in nodes:
            server = int(node == SERVER)
            self._conf(node).write_text(
                f"PBS_EXEC={self.prefix}\nPBS_HOME={self.prefix}/home\nPBS_SERVER={SERVER}\nPBS_START_SERVER={server}\n"
                f"PBS_START_SCHED={server}\nPBS_START_COMM={server}\nPBS_START_MOM={1 - server}\nPBS_CORE_LIMIT=unlimited\n")
            for mode, folders in HOME_FOLDERS.items():
                for folder in folders:
                    (self.home(node) / folder).mkdir(parents=True, exist_ok=True)
                    (self.home(node) / folder).chmod(mode)
            # What a job's shell begins with: what pbs_habitat writes, and where the settings are that others have in /etc.
            (self.home(node) / "pbs_environment").write_text(f"TZ=UTC\nPATH=/bin:/usr/bin\nPBS_CONF_FILE={self.prefix}/etc/pbs.conf\n")
            # The home of users is the same everywhere: a job's output is copied there. Each node has its own /tmp.
            folder = self._cluster.folder
            (self.home(node) / "mom_priv/config").write_text(f"$clienthost {SERVER}\n$usecp *:{folder} {folder}\n$tmpdir /tmp\n")
        private = self.home(SERVER) / "server_priv"
        (private / "db_user").write_text(DATABASE_USER)
        (private / "db_user").chmod(0o600)
        for name, template in (("dedicated_time", "pbs_dedicated"), ("holidays", "pbs_holidays"),
                               ("resource_group", "pbs_resource_group"), ("sched_config", "pbs_sched_config")):
            text = (self.prefix / "etc" / template).read_text()
            if name == "sched_config":
                text = text.replace('resources: "ncpus,', 'resources: "ncpus, ngpus,')
                assert "ngpus" in text, "OpenPBS's sched_config has another look"
            (self.home(SERVER) / "sched_priv" / name).write_text(text)
            (self.home(SERVER) / "sched_priv" / name).chmod(0o644)

    def start(self):
        cluster = self._cluster
        self._run("sh", "-c", f". {self._conf(SERVER)} && export PBS_HOME PBS_EXEC PBS_SERVER PBS_DATA_SERVICE_USER={DATABASE_USER} && "
                  '. "$PBS_EXEC"/libexec/pbs_db_env && exec bash "$PBS_EXEC"/libexec/pbs_db_utility install_db', timeout=120)
        self._daemon(cluster.control, "sbin/pbs_comm", "-N")
        self._daemon(cluster.control, "sbin/pbs_server", "-t", "create", "-N")
        cluster.wait_until(lambda: self.qmgr("list server", check=False).returncode == 0, "the PBS server", timeout=120)
        self.qmgr(SETTINGS)
        self._daemon(cluster.control, "sbin/pbs_sched", "-N")
        for node in cluster.nodes:
            self._daemon(node, "sbin/pbs_mom", "-N")
            self.qmgr(f"create node {node.name}\nset node {node.name} resources_available.ncpus = {PROCESSORS}\n"
                      f"set node {node.name} resources_available.ngpus = {GPUS}\n")
        self.qmgr("set server scheduling = True\n")
        cluster.wait_until(lambda: self.states() == {"free"}, "PBS' nodes", timeout=120)

    def _environment(self, node):
        # The scripts of PBS look here, its programs where they were built to.
        return {"PBS_CONF_FILE": self._conf(node), "PATH": f"/usr/sbin:/usr/bin:/sbin:/bin:{self.prefix}/bin"}

    def _run(self, *argv, **options):
        return self._cluster.control.check(*argv, env=self._environment(SERVER), **options)

    def _daemon(self, node, program, *options):
        return self._cluster.daemon(node, self.prefix / program, *options, env=self._environment(node.name),
                                    log=f"{pathlib.Path(program).name}-{node.name}.out")

    def qmgr(self, commands, check=True):
        """What PBS' manager does with these lines. @throws RuntimeError when it does not"""
        done = self._cluster.control.run("sh", "-c", f'printf "%s" "$0" | {self.prefix}/bin/qmgr', commands, env=self._environment(SERVER))
        if check and done.returncode != 0:
            raise RuntimeError(f"qmgr: {done.stdout}{done.stderr}")
        return done

    def states(self):
        """Those of the nodes: {"free"} when all of them wait for work."""
        done = self._cluster.control.run(self.prefix / "bin/pbsnodes", "-a", env=self._environment(SERVER))
        return {line.partition(" = ")[2] for line in done.stdout.splitlines() if line.startswith("     state = ")}
