// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include <dtrain/topology.hpp>

namespace dtrain::topology {

/// Where to read a machine from; by default the one that we are on.
struct Source {
    std::string xml_file;              ///< a file that hwloc wrote
    std::string xml_text;              ///< the content of one; wins over the file
    std::filesystem::path root = "/";  ///< the folder that has proc/ and dev/ of this system's GPU driver
    std::string nvml_library = "libnvidia-ml.so.1";
};

Machine discover_from(const Source& source);

}  // namespace dtrain::topology
