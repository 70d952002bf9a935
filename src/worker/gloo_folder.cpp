// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/gloo_folder.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

#include "base/random_id.hpp"
#include "base/text.hpp"
#include "protocol/gloo_folder.hpp"

namespace dtrain::worker {
namespace {

constexpr const char* marks_name = ".dtrain.gloo";
constexpr std::size_t max_jobs = 64;
constexpr std::size_t max_bytes = 64 * 1024;

std::string one_word(std::string job) {
    std::ranges::replace_if(
        job, [](unsigned char letter) { return std::isalnum(letter) == 0; }, '-');
    return job;
}

std::string content_of(const FileDescriptor& file) {
    std::string text(max_bytes, '\0');
    text.resize(read_at(file.get(), text.data(), text.size(), 0).value_or(0));
    return text;
}

/// The first rank writes a random mark; the others read it.
std::string agreed_mark(const FileDescriptor& file, const std::string& job) {
    while (::flock(file.get(), LOCK_EX) != 0 && errno == EINTR) continue;
    const auto text = content_of(file);
    if (auto mark = gloo_mark(text, job); !mark.empty()) return mark;
    auto mark = random_id();
    if (::ftruncate(file.get(), 0) == 0) write_all(file.get(), with_gloo_mark(text, job, mark));
    return mark;
}

}  // namespace

std::string gloo_folder(const std::filesystem::path& log_dir, const std::string& job, LogFolders folders) {
    const auto opened = open_log_file(log_dir / marks_name, 0600, folders);
    const auto mark = opened.file.valid() ? agreed_mark(opened.file, one_word(job)) : random_id();
    return cluster::gloo_folder_of(mark);
}

std::string gloo_mark(const std::string& text, const std::string& job) {
    for (const auto& line : split(text, '\n'))
        if (line.starts_with(job + " ")) return line.substr(job.size() + 1);
    return "";
}

std::string with_gloo_mark(const std::string& text, const std::string& job, const std::string& mark) {
    auto lines = split(trimmed(text), '\n');
    std::erase(lines, "");
    if (lines.size() >= max_jobs)
        lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(max_jobs - 1));
    lines.push_back(job + " " + mark);
    return join(lines, "\n") + "\n";
}

}  // namespace dtrain::worker
