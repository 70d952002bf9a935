// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/options/carried.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::launch {
namespace {

constexpr std::array<std::string_view, 9> carried_by_name{"PATH",
                                                          "LD_LIBRARY_PATH",
                                                          "LD_PRELOAD",
                                                          "VIRTUAL_ENV",
                                                          "CONDA_PREFIX",
                                                          "CONDA_DEFAULT_ENV",
                                                          "LIBRARY_PATH",
                                                          "LANG",
                                                          "TZ"};

template <class Names>
bool holds(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// Prefixes, before an underscore, of whole families of variables.
constexpr std::array<std::string_view, 18> carried_families{
    "DTRAIN", "PADDLE", "FLAGS", "NCCL", "GLOO", "TORCH", "OMP", "KMP",  "MKL",
    "ONEDNN", "DNNL",   "CUDA",  "UCX",  "FI",   "HF",    "TF",  "GLOG", "TORCHELASTIC"};

bool in_carried_family(std::string_view name) {
    const auto family = name.substr(0, name.find('_'));
    return name.starts_with("PYTHON") || (family != name && holds(carried_families, family));
}

/// Variables that belong to one machine or one rank.
constexpr std::array<std::string_view, 4> of_one_machine{"CUDA_VISIBLE_DEVICES", "PADDLE_TRAINER_ID",
                                                         "PADDLE_CURRENT_ENDPOINT", "PADDLE_RANK_IN_NODE"};

bool is_name(std::string_view text) {
    const auto part_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    return !text.empty() && !std::isdigit(static_cast<unsigned char>(text.front())) &&
           std::all_of(text.begin(), text.end(), part_of_name);
}

/// @param where prefix of error messages: "--env", "--env-file job.env, line 3:"
void take(Environment& out, const std::string& text, const Environment& environment,
          const std::string& where) {
    const auto equals = text.find('=');
    const auto name = text.substr(0, equals);
    if (!is_name(name))
        throw UsageError(fmt::format("{} {} is no variable; write NAME or NAME=VALUE", where, text));
    if (equals != std::string::npos) {
        out.set(name, text.substr(equals + 1));
    } else if (const auto value = environment.get(name)) {
        out.set(name, *value);
    } else {
        throw UsageError(
            fmt::format("{} {}: no such variable is set here; set it, or write {}=VALUE", where, text, name));
    }
}

}  // namespace

Environment given_variables(const Options& options, const Environment& environment,
                            const ReadFile& read_file) {
    Environment out;
    if (options.env_file) {
        const auto content = read_file(*options.env_file);
        if (!content) throw UsageError(fmt::format("--env-file {} cannot be read", *options.env_file));
        int number = 0;
        for (auto line : split(*content, '\n')) {
            ++number;
            if (!line.empty() && line.back() == '\r') line.pop_back();
            const auto text = trimmed(line);
            if (text.empty() || text.starts_with('#')) continue;
            take(out, line, environment, fmt::format("--env-file {}, line {}:", *options.env_file, number));
        }
    }
    for (const auto& text : options.env) take(out, text, environment, "--env");
    return out;
}

std::vector<std::string> carried_names(const Environment& environment, const Environment& given) {
    std::vector<std::string> names;
    for (const auto& [name, value] : environment) {
        const bool carried =
            (in_carried_family(name) || holds(carried_by_name, name)) && !holds(of_one_machine, name);
        if (carried || given.has(name)) names.push_back(name);
    }
    return names;
}

}  // namespace dtrain::launch
