// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include <dtrain/topology.hpp>

namespace dtrain::topology {

/// Where to read the description of a machine; by default from this machine.
struct Source {
    std::string xml_file;              ///< a file written by hwloc
    std::string xml_text;              ///< the content of such a file; takes precedence over the file
    std::filesystem::path root = "/";  ///< the folder with proc/ and dev/ of this system's GPU driver
    std::string nvml_library = "libnvidia-ml.so.1";
};

Machine discover_from(const Source& source);

}  // namespace dtrain::topology
