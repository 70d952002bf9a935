# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Mount namespaces whose mounts nobody outside sees, also below a root that is no mount point (chroot)."""
import functools
import pathlib
import subprocess
import tempfile


@functools.cache
def propagation():
    """What unshare's --propagation has to be. @throws RuntimeError saying why there is no such namespace."""
    probe = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
    if probe.returncode == 0:
        return "private"
    # The root of a chroot is no mount point, so nothing can be said of its propagation: what is mounted tells.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dtrain-mount.", dir="/var/tmp"))
    child = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "unchanged", "sh", "-c",
         'mount -t tmpfs none "$0" && touch "$0/inside" && echo mounted && exec cat', folder],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    mounted = child.stdout.readline() == "mounted\n"
    is_seen = (folder / "inside").exists()
    child.communicate()
    if is_seen:
        subprocess.run(["umount", folder], check=True)
    folder.rmdir()
    if not mounted:
        raise RuntimeError(f"this machine allows no namespaces: {probe.stderr.strip()}; a container needs CAP_SYS_ADMIN")
    if is_seen:
        raise RuntimeError("mounts in a namespace of this chroot would be seen outside: before the chroot, make its root a "
                           "private mount point (mount --bind ROOT ROOT, mount --make-private ROOT)")
    return "unchanged"


def unshare(*namespaces):
    """The command line that runs the words behind it in new namespaces, mounts among them.
    @throws RuntimeError saying why there are none"""
    return ["unshare", "--mount", "--propagation", propagation(), *namespaces]


def enter(pid, folder, *namespaces):
    """The same, in `folder`, for the namespaces of `pid`, and with its root: who enters a mount namespace is at the root of that."""
    root = [] if propagation() == "private" else ["--root"]
    return ["nsenter", "-t", str(pid), "--mount", *namespaces, *root, f"--wd={folder}"]
