# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs compiled as somebody does who has an installed dtrain, each once in a process of pytest."""
import atexit
import functools
import pathlib
import shutil
import subprocess
import tempfile

from conftest import BUILD, build_program


def compiled(source):
    """The program of a source that includes nothing from its own folder."""
    return program_of(source.stem, source.read_text())


@functools.cache
def program_of(name, text):
    found = subprocess.run(["pkg-config", "--cflags", "--libs", "dtrain"], capture_output=True, text=True, check=True,
                           env={"PKG_CONFIG_PATH": str(BUILD / "meson-uninstalled"), "PATH": "/usr/bin:/bin"})
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=all_programs()))
    (folder / f"{name}.cpp").write_text(text)
    build_program(folder / name, folder / f"{name}.cpp", found.stdout.split(), [f"-Wl,-rpath,{BUILD / 'src'}"])
    return folder / name


@functools.cache
def all_programs():
    folder = tempfile.mkdtemp(prefix="dtrain-programs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
