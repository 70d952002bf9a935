// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

namespace dtrain {

/// Arguments and variables in the format of execve. Must be created before fork(): become() then only makes
/// calls that are allowed between fork and exec.
class ExecImage {
  public:
    ExecImage(std::vector<std::string> argv, const Environment& environment);
    ExecImage(const ExecImage&) = delete;
    ExecImage& operator=(const ExecImage&) = delete;

    /// Replaces this process; returns errno if that fails.
    int become(const char* program) const;

  private:
    std::vector<std::string> argv_strings_;
    std::vector<std::string> variable_strings_;
    std::vector<char*> argv_;
    std::vector<char*> variables_;
};

}  // namespace dtrain
