// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/gpu_names.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/paths_in.hpp"
#include "base/text.hpp"
#include "topology/nvml.hpp"

namespace dtrain::topology {
namespace {

namespace fs = std::filesystem;

/// Content of /proc/driver/nvidia/gpus/<address>/information about a GPU.
struct Information {
    std::string model;
    std::string uuid;
    std::optional<int> minor;
    bool excluded = false;  ///< disabled by the administrator (NVreg_ExcludedGpus)
};

std::optional<Information> information_of(const Gpu& gpu, const fs::path& root) {
    const auto text = read_file(root / "proc/driver/nvidia/gpus" / gpu.pci.to_string() / "information");
    if (!text) return std::nullopt;
    Information out;
    for (const auto& line : split(*text, '\n')) {
        const auto colon = line.find(':');
        if (colon == std::string::npos) continue;
        const auto key = trimmed(std::string_view(line).substr(0, colon));
        const auto value = trimmed(std::string_view(line).substr(colon + 1));
        if (key == "Model") out.model = value;
        // The driver prints question marks until a program has initialized the GPU.
        if (key == "GPU UUID" && value.find('?') == std::string_view::npos) out.uuid = value;
        if (key == "Device Minor") out.minor = parse_int(value);
        if (key == "GPU Excluded") out.excluded = value == "Yes";
    }
    return out;
}

/// Whether the device files deny this process the use of the GPU. access(2) also checks the cgroup's device
/// rules, and does not initialize the GPU as open(2) would. If there are no device files of GPUs, nothing is
/// known: the first CUDA program creates them.
bool is_denied(int minor, const fs::path& root, bool any_device_file) {
    const auto path = root / "dev" / fmt::format("nvidia{}", minor);
    if (::access(path.c_str(), R_OK | W_OK) == 0) return false;
    return errno == ENOENT ? any_device_file : errno == EPERM || errno == EACCES;
}

bool has_mig_partitions(const fs::path& root) {
    for (const auto& gpu : paths_in(root / "proc/driver/nvidia/capabilities"))
        for (const auto& path : paths_in(gpu / "mig"))
            if (path.filename().string().starts_with("gi")) return true;
    return false;
}

void name_by_proc(std::vector<Gpu>& gpus, const fs::path& root) {
    struct Known {
        Gpu gpu;
        Information information;
    };
    std::vector<Known> known;
    for (const auto& gpu : gpus)
        if (auto information = information_of(gpu, root)) known.push_back({gpu, *information});
    if (known.empty()) return;

    const bool any_device_file = std::any_of(known.begin(), known.end(), [&](const Known& entry) {
        return entry.information.minor &&
               fs::exists(
                   fs::symlink_status(root / "dev" / fmt::format("nvidia{}", *entry.information.minor)));
    });
    gpus.clear();
    for (auto& [gpu, information] : known) {
        if (information.excluded) continue;
        if (information.minor && is_denied(*information.minor, root, any_device_file)) continue;
        if (!information.model.empty()) gpu.model = information.model;
        if (!information.uuid.empty()) gpu.uuid = information.uuid;
        gpus.push_back(std::move(gpu));
    }
}

void name_by_nvml(std::vector<Gpu>& gpus, const std::string& library) {
    const auto answers = ask_nvml(library);
    if (!answers) return;
    std::vector<Gpu> usable;
    for (auto& gpu : gpus) {
        const auto answer = std::find_if(answers->begin(), answers->end(),
                                         [&](const NvmlGpu& other) { return other.pci == gpu.pci; });
        if (answer == answers->end()) continue;
        if (!answer->model.empty()) gpu.model = answer->model;
        if (!answer->uuid.empty()) gpu.uuid = answer->uuid;
        gpu.mig_uuids = answer->mig_uuids;
        usable.push_back(std::move(gpu));
    }
    gpus = std::move(usable);
}

}  // namespace

std::vector<Gpu> named_by_driver(std::vector<Gpu> gpus, const fs::path& root,
                                 const std::string& nvml_library) {
    if (gpus.empty()) return gpus;
    name_by_proc(gpus, root);
    // NVML initializes all GPUs, which takes seconds without the persistence daemon, so it is used only if
    // needed.
    const bool nameless =
        std::any_of(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.uuid.empty(); });
    if (nameless || (!gpus.empty() && has_mig_partitions(root))) name_by_nvml(gpus, nvml_library);
    for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].index = static_cast<int>(i);
    return gpus;
}

}  // namespace dtrain::topology
