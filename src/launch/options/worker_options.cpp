// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/options/worker_options.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/shell_args.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "protocol/rank_list.hpp"

namespace dtrain::launch {
namespace {

/// The result of `read` for a value; errors that it throws are extended by the option's name.
template <class Read>
auto read_option(const char* option, const std::string& value, const Read& read) {
    try {
        return read(value);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{}: {}", option, error.what()));
    }
}

}  // namespace

std::vector<std::string> worker_options(const std::string& log_dir, const Options& options) {
    std::vector<std::string> argv{"--log_dir", log_dir, "--grace", seconds_text(options.grace)};
    const auto add = [&](const char* name, const std::string& value) {
        argv.insert(argv.end(), {name, value});
    };
    if (options.log_mode != Options().log_mode) add("--log-mode", fmt::format("{:04o}", options.log_mode));
    if (options.log_overwrite) argv.emplace_back("--log_overwrite");
    if (options.trust_log_dir) argv.emplace_back("--trust-log-dir");
    if (options.log_max_size) add("--log-max-size", std::to_string(*options.log_max_size));
    if (options.tee) read_option("--tee", *options.tee, cluster::RankList::parse);
    if (options.wrap) read_option("--wrap", *options.wrap, shell_args);
    if (options.wrap_ranks) read_option("--wrap-ranks", *options.wrap_ranks, cluster::RankList::parse);
    if (options.quiet)
        add("--show", "none");
    else if (options.tee)
        add("--show", *options.tee);
    if (options.wrap) add("--wrap", *options.wrap);
    if (options.wrap_ranks) add("--wrap-ranks", *options.wrap_ranks);
    if (options.setup) add("--setup", *options.setup);
    if (options.hang_timeout) add("--hang-timeout", to_string(*options.hang_timeout));
    if (options.on_hang == OnHang::dump) argv.emplace_back("--dump-operations");
    if (options.trace_mpi) argv.emplace_back("--trace-mpi");
    return argv;
}

void refuse_missing_wrapper(const Options& options, const Environment& environment) {
    if (!options.wrap) return;
    const auto args = read_option("--wrap", *options.wrap, shell_args);
    // A name that differs per rank or host is looked up by the workers.
    if (args.empty() || args.front().find('%') != std::string::npos) return;
    if (!find_in_path(args.front(), environment))
        throw UsageError(fmt::format("--wrap: cannot execute \"{}\": no such program", args.front()));
}

}  // namespace dtrain::launch
