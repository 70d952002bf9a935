// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dtrain {

/// The device that a program computes on: this process' CPU or a GPU.
struct Device {
    /// What kind of device.
    enum class Kind : std::uint8_t { cpu, gpu };

    Kind kind = Kind::cpu;  ///< the CPU or a GPU
    /// Number of the GPU among those that this process sees. None: that of FLAGS_selected_gpus, as set by
    /// dtrain-launch --gpus; without it the one whose number is this rank's local rank.
    std::optional<int> number = {};

    /// This process' CPU.
    static Device cpu() { return {}; }
    /// A GPU. @param number see `number`
    static Device gpu(std::optional<int> number = {}) { return {Kind::gpu, number}; }

    /// Whether it is a GPU.
    bool is_gpu() const { return kind == Kind::gpu; }
    friend bool operator==(const Device&, const Device&) = default;
};

/// "cpu", "gpu", "gpu:1"
std::string to_string(const Device& device);

/// Parses the name of a device.
/// @param text in the form of to_string()
/// @param said_by source of the text for the message: "DTRAIN_DEVICE"
/// @throws UsageError if it is not a device
Device device_of(std::string_view text, std::string_view said_by);

}  // namespace dtrain
