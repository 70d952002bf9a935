// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include <dtrain/environment.hpp>
#include <dtrain/topology.hpp>

namespace dtrain::topology {

/// Where to read the description of a machine; by default from this machine.
struct Source {
    std::string xml_file;              ///< a file written by hwloc
    std::string xml_text;              ///< the content of such a file; takes precedence over the file
    std::filesystem::path root = "/";  ///< the folder with proc/ and dev/ of this system's GPU driver
    std::string nvml_library = "libnvidia-ml.so.1";
    std::filesystem::path sys;  ///< sysfs, where it may be asked in hwloc's place what is on the PCI bus
};

Machine discover_from(const Source& source);

/// Whether there is one of hwloc's own variables, which say what it reads and how. Pure.
bool speaks_to_hwloc(const Environment& environment);

}  // namespace dtrain::topology
