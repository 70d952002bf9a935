// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_library.hpp"

#include <cstddef>
#include <cstdint>
#include <elf.h>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <vector>

#include "base/files.hpp"

namespace dtrain::comm {
namespace {

constexpr std::size_t max_bytes = 64 << 20;  // of a section; GPU code, the bulk, is in other sections

bool read_all(int file, void* to, std::size_t size, std::uint64_t offset) {
    return read_at(file, to, size, static_cast<std::int64_t>(offset)) == size;
}

std::optional<std::string> section_text(int file, const Elf64_Shdr& section) {
    if (section.sh_type == SHT_NOBITS || section.sh_size > max_bytes) return std::nullopt;
    std::string text(section.sh_size, '\0');
    if (!read_all(file, text.data(), text.size(), section.sh_offset)) return std::nullopt;
    return text;
}

/// Its constants; "" if it is not a 64-bit library.
std::string constants_of(const std::filesystem::path& library) {
    const FileDescriptor file(::open(library.c_str(), O_RDONLY | O_CLOEXEC));
    Elf64_Ehdr header{};
    if (!file.valid() || !read_all(file.get(), &header, sizeof(header), 0)) return "";
    if (std::string_view(reinterpret_cast<const char*>(header.e_ident), SELFMAG) != ELFMAG ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) ||
        header.e_shstrndx >= header.e_shnum)
        return "";
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    if (!read_all(file.get(), sections.data(), sections.size() * sizeof(Elf64_Shdr), header.e_shoff))
        return "";
    const auto names = section_text(file.get(), sections[header.e_shstrndx]);
    if (!names) return "";
    for (const auto& section : sections)
        if (section.sh_name < names->size() &&
            std::string_view(names->c_str() + section.sh_name) == ".rodata")
            return section_text(file.get(), section).value_or("");
    return "";
}

}  // namespace

std::string cuda_of_nccl(const std::filesystem::path& library) {
    constexpr std::string_view version = "NCCL version ";
    constexpr std::string_view cuda = "+cuda";
    constexpr std::string_view numbers = "0123456789.";
    const auto text = constants_of(library);
    for (auto at = text.find(version); at != std::string::npos; at = text.find(version, at + 1)) {
        const auto plus = text.find_first_not_of(numbers, at + version.size());
        if (plus == std::string::npos || text.compare(plus, cuda.size(), cuda) != 0) continue;
        const auto begin = plus + cuda.size();
        return text.substr(begin, text.find_first_not_of(numbers, begin) - begin);
    }
    return "";
}

}  // namespace dtrain::comm
