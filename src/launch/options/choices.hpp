// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/device.hpp>

#include "protocol/run_mode.hpp"

/// Options whose value is one of a few: an enumeration with one table of texts each. What a launcher learns
/// while it runs is no enumeration: launch backends (--engine) and schedulers are names of registries.
namespace dtrain::launch {

using cluster::RunMode;

/// --backend: what PADDLE_DISTRI_BACKEND says
enum class ProgramBackend { automatic, nccl, gloo };

/// --visible
enum class VisibleGpus {
    narrow,  ///< ranks see the selected GPUs only
    keep     ///< CUDA_VISIBLE_DEVICES stays as it is
};

/// --bind
enum class Binding { automatic, none };

/// --on-hang
enum class OnHang {
    stop,     ///< with --max_restart the job starts again
    restart,  ///< the same, but --max_restart must be given
    report,   ///< one line; the job goes on
    dump,     ///< the same, and every rank's last operations are written
};

/// --dry-run
enum class PlanForm { table, json };

template <class Enum>
struct Choice {
    Enum value;
    std::string_view text;
};

/// The values of an enumeration in the order in which messages and --help name them.
template <class Enum>
struct Choices;

template <>
struct Choices<RunMode> {
    static constexpr auto& table = cluster::run_modes;
};
template <>
struct Choices<ProgramBackend> {
    static constexpr std::array table{Choice{ProgramBackend::automatic, "auto"},
                                      Choice{ProgramBackend::nccl, "nccl"},
                                      Choice{ProgramBackend::gloo, "gloo"}};
};
template <>
struct Choices<VisibleGpus> {
    static constexpr std::array table{Choice{VisibleGpus::narrow, "narrow"},
                                      Choice{VisibleGpus::keep, "keep"}};
};
template <>
struct Choices<Binding> {
    static constexpr std::array table{Choice{Binding::automatic, "auto"}, Choice{Binding::none, "none"}};
};
template <>
struct Choices<OnHang> {
    static constexpr std::array table{Choice{OnHang::stop, "stop"}, Choice{OnHang::restart, "restart"},
                                      Choice{OnHang::report, "report"}, Choice{OnHang::dump, "dump"}};
};
template <>
struct Choices<PlanForm> {
    static constexpr std::array table{Choice{PlanForm::table, "table"}, Choice{PlanForm::json, "json"}};
};
/// --server_device and --heter_devices
template <>
struct Choices<Device::Kind> {
    static constexpr std::array table{Choice{Device::Kind::cpu, "cpu"}, Choice{Device::Kind::gpu, "gpu"}};
};

template <class Enum>
concept Choosable = requires {
    Choices<Enum>::table;
};

/// "ps-heter", "narrow", ... as typed.
template <Choosable Enum>
std::string to_string(Enum value) {
    const auto has_value = [&](const auto& choice) { return choice.value == value; };
    return std::string(std::ranges::find_if(Choices<Enum>::table, has_value)->text);
}

/// The value of this text; nothing if there is none.
template <Choosable Enum>
std::optional<Enum> choice_of(std::string_view text) {
    const auto& table = Choices<Enum>::table;
    const auto found = std::ranges::find_if(table, [&](const auto& choice) { return choice.text == text; });
    return found == table.end() ? std::nullopt : std::optional(found->value);
}

/// All texts, in the order of the table.
template <Choosable Enum>
std::vector<std::string_view> choice_texts() {
    std::vector<std::string_view> texts;
    for (const auto& choice : Choices<Enum>::table) texts.push_back(choice.text);
    return texts;
}

}  // namespace dtrain::launch
