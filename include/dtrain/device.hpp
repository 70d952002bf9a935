// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dtrain {

/// What a program computes on: this process' CPU or a GPU.
struct Device {
    enum class Kind : std::uint8_t { cpu, gpu };

    Kind kind = Kind::cpu;
    /// Of a GPU, among those that this process sees. None: that of FLAGS_selected_gpus, as dtrain-launch
    /// --gpus sets it; without it the one with this rank's number on its node.
    std::optional<int> number = {};

    static Device cpu() { return {}; }
    static Device gpu(std::optional<int> number = {}) { return {Kind::gpu, number}; }

    bool is_gpu() const { return kind == Kind::gpu; }
    friend bool operator==(const Device&, const Device&) = default;
};

/// "cpu", "gpu", "gpu:1"
std::string to_string(const Device& device);

/// @param text as to_string() makes it
/// @param said_by for the message: "DTRAIN_DEVICE"
/// @throws UsageError when it is none of these
Device device_of(std::string_view text, std::string_view said_by);

}  // namespace dtrain
