# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""On what figures were measured: the machine, the versions of what takes part, the commit."""

import os
import platform
import re
from pathlib import Path

from program_runs import Failed, run

SOURCE = Path(__file__).resolve().parent.parent
LIMIT = 60  # seconds
FRAMEWORKS = "from importlib.metadata import distributions as d; print(*(f'{x.metadata[\"Name\"]} {x.version}' for x in d()), sep='\\n')"
PEERS = ("torch", "paddlepaddle", "paddlepaddle-gpu", "mpi4py")


def described(environment=None):
    """For JSON. What cannot be found out is an empty text or 0."""
    environment = os.environ if environment is None else environment
    return {"cpu": cpu_model(text_of("/proc/cpuinfo")) or platform.processor(), "cores": len(os.sched_getaffinity(0)),
            "memory_bytes": memory_bytes(text_of("/proc/meminfo")), "architecture": platform.machine(),
            "os": os_name(text_of("/etc/os-release")), "kernel": platform.release(), "load": load(),
            "versions": versions(environment)}


def text_of(path):
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def cpu_model(cpuinfo):
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, flags=re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


def memory_bytes(meminfo):
    found = re.search(r"^MemTotal:\s*(\d+) kB$", meminfo, flags=re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def os_name(os_release):
    found = re.search(r'^PRETTY_NAME="?([^"\n]+)"?$', os_release, flags=re.MULTILINE)
    return found[1] if found else ""


def load():
    """What else the machine does: the mean number of busy processes of the last minute."""
    return round(os.getloadavg()[0], 2)


def versions(environment):
    found = {"dtrain": dtrain_version((SOURCE / "meson.build").read_text()), "python": platform.python_version(),
             "compiler": first_line([environment.get("CXX") or "c++", "--version"]), "mpi": first_line(["mpirun", "--version"])}
    python = environment.get("DTRAIN_COMPAT_PYTHON")
    if python:
        lines = (line.partition(" ") for line in output_of([python, "-c", FRAMEWORKS]).splitlines())
        found.update({name: version for name, _, version in lines if name in PEERS})
    return found


def dtrain_version(meson_build):
    found = re.search(r"^\s*version: '([^']+)'", meson_build, flags=re.MULTILINE)
    return found[1] if found else ""


def commit_of(source=SOURCE):
    """The commit, and whether files differ from it; empty and None outside of a git checkout."""
    commit = first_line(["git", "-C", source, "rev-parse", "HEAD"])
    if not commit:
        return {"commit": "", "dirty": None}
    return {"commit": commit, "dirty": bool(output_of(["git", "-C", source, "status", "--porcelain"]).strip())}


def first_line(command):
    return output_of(command).partition("\n")[0].strip()


def output_of(command):
    try:
        return run(command, limit=LIMIT).output
    except Failed:
        return ""


def as_text(machine, commit, date):
    """One line above all figures."""
    state = {True: " and changes", False: "", None: ""}[commit["dirty"]]
    return (f"{machine['cores']} cores of {machine['cpu'] or 'an unknown CPU'}, {machine['memory_bytes'] / 2**30:.0f} GiB, "
            f"{machine['os'] or 'unknown system'}, load {machine['load']:g}; {date}; "
            f"{'commit ' + commit['commit'][:12] + state if commit['commit'] else 'no git checkout'}")


def same(one, other):
    """Whether figures of both can be set beside each other."""
    return all(one[name] == other[name] for name in ("cpu", "cores", "architecture")) and \
        round(one["memory_bytes"] / 2**30) == round(other["memory_bytes"] / 2**30)
