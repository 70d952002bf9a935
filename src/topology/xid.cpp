// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/xid.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain::topology {
namespace {

struct Meaning {
    int number;
    std::string_view text;
};

constexpr std::array meanings = {
    Meaning{13, "a fault of the program: it reached beyond its memory, or had an illegal instruction"},
    Meaning{31, "a fault of the program: it reached memory that is not mapped"},
    Meaning{32, "a corrupted stream of commands"},
    Meaning{43, "the GPU stopped a program that had a fault"},
    Meaning{45, "cleaned up after another error, or the program was killed"},
    Meaning{48, "memory error that cannot be corrected"},
    Meaning{61, "the GPU's microcontroller stopped"},
    Meaning{62, "the GPU's microcontroller stopped"},
    Meaning{63, "a broken row of memory is to be replaced at the next reset"},
    Meaning{64, "a broken row of memory cannot be replaced"},
    Meaning{74, "NVLink error"},
    Meaning{79, "the GPU has fallen off the bus"},
    Meaning{92, "very many memory errors that were corrected"},
    Meaning{94, "memory error that hit one program only"},
    Meaning{95, "memory error that hits all programs: the GPU has to be reset"},
    Meaning{119, "the GPU's system processor does not answer"},
    Meaning{120, "the GPU's system processor failed"},
    Meaning{140, "memory error that cannot be corrected"},
};

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

std::string to_sentence(const Xid& xid) {
    const auto known = std::ranges::find(meanings, xid.number, &Meaning::number);
    auto sentence = fmt::format("Xid {} of GPU {}", xid.number, xid.gpu);
    if (known != meanings.end()) sentence += fmt::format(": {}", known->text);
    if (!xid.text.empty()) sentence += fmt::format(" ({})", xid.text);
    return sentence;
}

}  // namespace dtrain::topology
