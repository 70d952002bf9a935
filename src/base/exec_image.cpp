// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/exec_image.hpp"

#include <cerrno>
#include <unistd.h>

namespace dtrain {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
    std::vector<char*> out;
    out.reserve(strings.size() + 1);
    for (auto& text : strings) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

}  // namespace

ExecImage::ExecImage(std::vector<std::string> argv, const Environment& environment)
    : argv_strings_(std::move(argv)),
      variable_strings_(environment.to_strings()),
      argv_(pointers_to(argv_strings_)),
      variables_(pointers_to(variable_strings_)) {}

int ExecImage::become(const char* program) const {
    ::execve(program, argv_.data(), variables_.data());
    return errno;
}

}  // namespace dtrain
