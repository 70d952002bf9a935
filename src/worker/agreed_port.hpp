// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/files.hpp"

namespace dtrain::worker {

/// Ports on which the ranks of a job agree whose launcher has not planned any, all on one node. The rank that
/// comes first chooses free ones, the others read its choice from a file, which is there as long as a rank
/// is.
class AgreedPort {
  public:
    /// @param folder of this machine, such as /dev/shm. Where no file can be written there, and where no free
    /// ports are found, the choice is cluster::base_port().
    AgreedPort(const std::filesystem::path& folder, std::string_view job_id, int count);
    ~AgreedPort();
    AgreedPort(const AgreedPort&) = delete;
    AgreedPort& operator=(const AgreedPort&) = delete;

    /// The first of `count` consecutive ports. They are free when the first rank chooses them, and not held.
    int first() const { return first_; }

  private:
    std::filesystem::path path_;
    FileDescriptor file_;
    int first_;
};

}  // namespace dtrain::worker
