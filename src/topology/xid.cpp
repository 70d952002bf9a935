// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/xid.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/text.hpp"

namespace dtrain::topology {
namespace {

struct XidMeaning {
    int number;
    std::string_view text;
    bool is_of_program = false;
};

constexpr std::array meanings = {
    XidMeaning{13, "a fault of the program: it reached beyond its memory, or had an illegal instruction",
               true},
    XidMeaning{31, "a fault of the program: it reached memory that is not mapped", true},
    XidMeaning{32, "a corrupted stream of commands"},
    XidMeaning{43, "the GPU stopped a program that had a fault", true},
    XidMeaning{45, "cleaned up after another error, or the program was killed", true},
    XidMeaning{48, "memory error that cannot be corrected"},
    XidMeaning{61, "the GPU's microcontroller stopped"},
    XidMeaning{62, "the GPU's microcontroller stopped"},
    XidMeaning{63, "a broken row of memory is to be replaced at the next reset"},
    XidMeaning{64, "a broken row of memory cannot be replaced"},
    XidMeaning{74, "NVLink error"},
    XidMeaning{79, "the GPU has fallen off the bus"},
    XidMeaning{92, "very many memory errors that were corrected"},
    XidMeaning{94, "memory error that hit one program only"},
    XidMeaning{95, "memory error that hits all programs: the GPU has to be reset"},
    XidMeaning{119, "the GPU's system processor does not answer"},
    XidMeaning{120, "the GPU's system processor failed"},
    XidMeaning{140, "memory error that cannot be corrected"},
};

const XidMeaning* meaning_of(const Xid& xid) {
    const auto* const known = std::ranges::find(meanings, xid.number, &XidMeaning::number);
    return known == meanings.end() ? nullptr : known;
}

/// Appends the meaning of the number, and the driver's text.
std::string explained(std::string sentence, const Xid& xid) {
    if (const auto* const known = meaning_of(xid)) sentence += fmt::format(": {}", known->text);
    if (!xid.text.empty()) sentence += fmt::format(" ({})", xid.text);
    return sentence;
}

}  // namespace

std::optional<Xid> parse_xid(std::string_view line) {
    constexpr std::string_view mark = "NVRM: Xid (PCI:";
    const auto begin = line.find(mark);
    if (begin == std::string_view::npos) return std::nullopt;
    line.remove_prefix(begin + mark.size());
    const auto end = line.find("): ");
    if (end == std::string_view::npos) return std::nullopt;
    Xid xid{.number = 0, .gpu = std::string(line.substr(0, end)), .text = {}};
    line.remove_prefix(end + 3);
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), xid.number);
    if (error != std::errc()) return std::nullopt;
    line.remove_prefix(static_cast<std::size_t>(rest - line.data()));
    if (line.starts_with(',')) line.remove_prefix(1);
    xid.text = one_line(trimmed(line));
    return xid;
}

bool is_of_program(const Xid& xid) {
    const auto* const known = meaning_of(xid);
    return known != nullptr && known->is_of_program;
}

std::string to_sentence(const Xid& xid) {
    return explained(fmt::format("Xid {} of GPU {}", xid.number, xid.gpu), xid);
}

std::string without_gpu(const Xid& xid) {
    return explained(fmt::format("Xid {}", xid.number), xid);
}

std::vector<Xid> read_xids(int log) {
    constexpr int max_records = 100'000;  // limit, in case the log grows faster than it is read
    std::array<char, 8192> record{};      // /dev/kmsg returns one record per read
    std::string text;
    for (int i = 0; i < max_records; ++i) {
        const auto got = ::read(log, record.data(), record.size());
        if (got > 0) text.append(record.data(), static_cast<std::size_t>(got));
        if (got > 0 || (got < 0 && (errno == EPIPE || errno == EINTR)))
            continue;  // EPIPE: some records were overwritten
        break;
    }
    std::vector<Xid> found;
    for (const auto& line : split(text, '\n'))
        if (auto xid = parse_xid(line)) found.push_back(std::move(*xid));
    return found;
}

std::vector<Xid> logged_xids(const std::filesystem::path& kernel_log) {
    const FileDescriptor log(::open(kernel_log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    return log.valid() ? read_xids(log.get()) : std::vector<Xid>();
}

}  // namespace dtrain::topology
