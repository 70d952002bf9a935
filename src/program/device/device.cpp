// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include <fmt/format.h>

#include <dtrain/device.hpp>
#include <dtrain/error.hpp>

namespace dtrain {

std::string to_string(const Device& device) {
    if (!device.is_gpu()) return "cpu";
    return device.number ? fmt::format("gpu:{}", *device.number) : "gpu";
}

Device device_of(std::string_view text, std::string_view said_by) {
    constexpr std::string_view numbered = "gpu:";
    if (text == "cpu") return Device::cpu();
    if (text == "gpu") return Device::gpu();
    if (text.starts_with(numbered)) {
        const auto digits = text.substr(numbered.size());
        int number = -1;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (error == std::errc() && end == digits.data() + digits.size() && number >= 0)
            return Device::gpu(number);
    }
    throw UsageError(fmt::format("{} is '{}', expected cpu, gpu or gpu:NUMBER", said_by, text));
}

}  // namespace dtrain
