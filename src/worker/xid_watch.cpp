// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/xid_watch.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include "base/text.hpp"

namespace dtrain::worker {

XidWatch::XidWatch(const std::filesystem::path& kernel_log)
    : log_(::open(kernel_log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (log_.valid()) ::lseek(log_.get(), 0, SEEK_END);
}

std::vector<topology::Xid> XidWatch::take() {
    constexpr int most_records = 100'000;  // a log that grows faster than it is read has an end, too
    std::array<char, 8192> record{};       // which /dev/kmsg gives one at a time
    std::string text;
    for (int i = 0; log_.valid() && i < most_records; ++i) {
        const auto got = ::read(log_.get(), record.data(), record.size());
        if (got > 0) text.append(record.data(), static_cast<std::size_t>(got));
        if (got > 0 || (got < 0 && (errno == EPIPE || errno == EINTR)))
            continue;  // EPIPE: some were overwritten
        break;
    }
    std::vector<topology::Xid> found;
    for (const auto& line : split(text, '\n'))
        if (auto xid = topology::parse_xid(line)) found.push_back(std::move(*xid));
    return found;
}

}  // namespace dtrain::worker
