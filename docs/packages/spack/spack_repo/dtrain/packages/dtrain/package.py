# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
import os

from spack_repo.builtin.build_systems.meson import MesonPackage

from spack.package import *


class Dtrain(MesonPackage):
    """Launches and runs distributed training on HPC machines: a launcher, native data-parallel training, parameter
    servers and a C++ library on MPI."""

    # The tarball is published nowhere yet: spack install takes it from the current folder or a mirror.
    url = f"file://{os.getcwd()}/dtrain-0.2.0.tar.xz"
    manual_download = True

    license("Apache-2.0")

    # docs/packages/make-tarball writes version and checksum: of commit 8a531185cb57.
    version("0.2.0-dev", sha256="bf86329343530138e95a7f5f5d32774946dc9614f57b5d1c254cca778fc7d35e")
    # A source folder, for spack develop.
    version("develop")

    variant("cuda", default=False, description="NCCL communicators and GPU reports")
    variant("elastic", default=True, description="Elastic jobs on etcd")
    variant("rocksdb", default=True, description="Sparse tables larger than memory")
    variant("prometheus", default=True, description="Metrics for Prometheus")

    depends_on("cxx", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("openmpi@4.1:", type=("build", "link", "run"))
    depends_on("hwloc@2.4:")
    depends_on("hdf5+mpi+hl")
    depends_on("xxhash@0.8:")
    depends_on("zlib-api")
    depends_on("onednn@2.6:3")
    depends_on("abseil-cpp@20220623: cxxstd=20")
    depends_on("cli11@2:")
    depends_on("fmt@9:")
    depends_on("spdlog@1.10:")
    depends_on("nlohmann-json@3:")
    depends_on("tomlplusplus@3:")
    depends_on("libsodium@1.0.18:")
    depends_on("curl@7.85:", when="+elastic")
    depends_on("rocksdb@7:", when="+rocksdb")
    depends_on("prometheus-cpp@1:", when="+prometheus")
    depends_on("cuda", when="+cuda")
    depends_on("nccl", when="+cuda")

    conflicts("%gcc@:11", msg="dtrain is C++20: g++ 12 or newer")

    def setup_build_environment(self, env: EnvironmentModifications) -> None:
        # oneDNN and NCCL bring no pkg-config files.
        for name in ("onednn",) + (("nccl",) if self.spec.satisfies("+cuda") else ()):
            env.append_path("CPATH", self.spec[name].prefix.include)
            env.append_path("LIBRARY_PATH", self.spec[name].libs.directories[0])

    def meson_args(self):
        def feature(name):
            return f"-D{name}={'enabled' if self.spec.satisfies('+' + name) else 'disabled'}"

        args = ["-Dtests=disabled", feature("cuda"), feature("elastic"), feature("rocksdb"), feature("prometheus")]
        if self.spec.satisfies("+cuda"):
            args.append(f"-Dtoolkit={self.spec['cuda'].prefix}")
        return args
