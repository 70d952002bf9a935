-- SPDX-FileCopyrightText: dtrain contributors
-- SPDX-License-Identifier: Apache-2.0
--
-- Lmod module of an installed dtrain: module use PREFIX/share/dtrain/modulefiles; module load dtrain
-- The prefix is where this file lies, so that the tree can be moved. MPI and the other libraries are those that
-- dtrain was built with: load their modules first where the system has them as modules.

local version = myModuleVersion()
local prefix = myFileName():gsub("/[^/]+/dtrain/modulefiles/dtrain/[^/]+%.lua$", "")

whatis("Name: dtrain")
whatis("Version: " .. version)
whatis("Description: launches and runs distributed training; MPI-native")
help([[
dtrain-launch (alias fleetrun) starts a job, dtrain-worker is one rank of it: dtrain-launch --help.
C++: pkg-config --cflags --libs dtrain
]])

family("dtrain")
prepend_path("PATH", pathJoin(prefix, "@bindir@"))
prepend_path("MANPATH", pathJoin(prefix, "@mandir@"))
prepend_path("LD_LIBRARY_PATH", pathJoin(prefix, "@libdir@"))
prepend_path("LIBRARY_PATH", pathJoin(prefix, "@libdir@"))
prepend_path("CPATH", pathJoin(prefix, "@includedir@"))
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "@libdir@", "pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
