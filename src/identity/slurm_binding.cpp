// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "identity/slurm_binding.hpp"

#include "base/text.hpp"

namespace dtrain::cluster {
namespace {

/// "0x5" -> 0,2; nothing for an invalid mask.
std::optional<CpuSet> of_mask(std::string_view text) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    if (text.empty()) return std::nullopt;
    constexpr int bits_of_digit = 4;
    CpuSet out;
    for (std::size_t digit = 0; digit < text.size(); ++digit) {
        const auto value = parse_int(text.substr(text.size() - 1 - digit, 1), 16);
        if (!value) return std::nullopt;
        for (int bit = 0; bit < bits_of_digit; ++bit)
            if ((*value >> bit) & 1) out.add(static_cast<int>(digit) * bits_of_digit + bit);
    }
    return out;
}

std::optional<CpuSet> of_number(std::string_view text) {
    const auto cpu = text.starts_with("0x") ? parse_int(text.substr(2), 16) : parse_int(text);
    if (!cpu || *cpu < 0) return std::nullopt;
    return CpuSet::range(*cpu, *cpu);
}

}  // namespace

std::optional<CpuSet> slurm_bound_cpus(const Environment& environment) {
    const auto type = environment.get_or("SLURM_CPU_BIND_TYPE", "");
    const bool masks = type.find("mask_cpu") != std::string::npos;
    if (!masks && type.find("map_cpu") == std::string::npos) return std::nullopt;
    CpuSet all;
    for (const auto& task : split(environment.get_or("SLURM_CPU_BIND_LIST", ""), ',')) {
        const auto cpus = masks ? of_mask(task) : of_number(task);
        if (!cpus) return std::nullopt;
        all = all | *cpus;
    }
    return all;
}

}  // namespace dtrain::cluster
