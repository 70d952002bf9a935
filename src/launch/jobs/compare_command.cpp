// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/compare_command.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/command_line.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "launch/options/command_table.hpp"
#include "metrics/comparison.hpp"
#include "metrics/outputs.hpp"
#include "metrics/run_file.hpp"

namespace dtrain::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view compare_name = "compare";
constexpr mode_t for_the_user_alone = 0600;

struct CompareCommand {
    std::string output;
    std::vector<std::string> runs;
    std::optional<std::string> text;  ///< of --help
};

CompareCommand parse_compare(const std::vector<std::string>& arguments) {
    const auto& row = command_row(compare_name);
    CompareCommand out;
    CLI::App app{std::string(row.help), "dtrain-launch compare"};
    set_usage(app, std::string(row.arguments));
    app.add_option("-o,--output", out.output, "The page")->type_name("FILE.html")->required();
    app.add_option("RUN", out.runs,
                   "A page of --report, or JSON lines of --metrics; with NAME= the run is called so")
        ->required();
    out.text = parse_args(app, {arguments.begin() + 1, arguments.end()});
    return out;
}

/// A file, and what the user wants it to be called; "": nothing special.
struct NamedFile {
    std::string name;
    fs::path file;
};

/// A name of a file may have a '=' in it, too.
NamedFile named_file(const std::string& arg) {
    std::error_code none;
    const auto equals = arg.find('=');
    if (equals == std::string::npos || equals == 0 || fs::exists(arg, none)) return {"", arg};
    return {arg.substr(0, equals), arg.substr(equals + 1)};
}

std::vector<std::string> parts_of(const fs::path& path) {
    std::vector<std::string> parts;
    for (const auto& part : path.lexically_normal()) parts.push_back(part.string());
    return parts;
}

void refuse_same_names(const std::vector<metrics::NamedRun>& runs) {
    std::set<std::string> names;
    for (const auto& [name, run] : runs)
        if (!names.insert(name).second)
            throw UsageError(fmt::format("two runs are called {}; give each a name: NAME=FILE", name));
}

void refuse_output_that_is_read(const std::string& output, const std::vector<NamedFile>& files) {
    for (const auto& [name, file] : files) {
        std::error_code none;
        if (fs::equivalent(output, file, none))
            throw UsageError(
                fmt::format("--output {} is one of the runs; name another file for the page", output));
    }
}

std::vector<metrics::NamedRun> named_runs(const std::vector<NamedFile>& files) {
    std::vector<fs::path> paths;
    for (const auto& [name, file] : files) paths.push_back(file);
    const auto short_names = names_of_files(paths);
    std::vector<metrics::NamedRun> named;
    for (std::size_t number = 0; number < files.size(); ++number) {
        const auto& name = files[number].name.empty() ? short_names[number] : files[number].name;
        auto runs = metrics::read_runs(files[number].file);
        const auto count = runs.size();
        for (std::size_t of_file = 0; of_file < count; ++of_file) {
            metrics::thin_out(runs[of_file].rows, metrics::max_rows_of_a_kind);
            named.push_back(
                {count == 1 ? name : fmt::format("{} ({})", name, of_file + 1), std::move(runs[of_file])});
        }
    }
    return named;
}

}  // namespace

bool is_compare_command(const std::vector<std::string>& arguments) {
    return !arguments.empty() && arguments.front() == compare_name;
}

std::vector<std::string> names_of_files(const std::vector<fs::path>& files) {
    std::vector<std::vector<std::string>> parts;
    std::size_t fewest = 0;
    for (const auto& file : files) {
        parts.push_back(parts_of(file));
        fewest = parts.size() == 1 ? parts.back().size() : std::min(fewest, parts.back().size());
    }
    const auto all_have = [&](auto part_of) {
        return std::ranges::all_of(parts,
                                   [&](const auto& each) { return part_of(each) == part_of(parts[0]); });
    };
    std::size_t front = 0, back = 0;
    while (front + 1 < fewest && all_have([&](const auto& each) { return each[front]; })) ++front;
    while (front + back + 1 < fewest &&
           all_have([&](const auto& each) { return each[each.size() - 1 - back]; }))
        ++back;
    std::vector<std::string> names, stems;
    for (const auto& each : parts) {
        fs::path name;
        for (std::size_t part = front; part + back < each.size(); ++part) name /= each[part];
        names.push_back(name.string());
        stems.push_back(name.replace_extension().string());
    }
    const bool are_different = std::set(stems.begin(), stems.end()).size() == stems.size();
    return back == 0 && are_different ? stems : names;
}

int run_compare_command(const std::vector<std::string>& arguments) {
    const auto command = parse_compare(arguments);
    if (command.text) {
        write_all(STDOUT_FILENO, *command.text);
        return 0;
    }
    std::vector<NamedFile> files;
    std::ranges::transform(command.runs, std::back_inserter(files), named_file);
    refuse_output_that_is_read(command.output, files);
    metrics::check_may_replace("--output", command.output);
    const auto runs = named_runs(files);
    if (runs.size() < 2)
        throw UsageError(fmt::format("{} is one run; name two or more to compare them", command.runs[0]));
    refuse_same_names(runs);
    replace_file(command.output, metrics::comparison_html(runs), for_the_user_alone);
    write_all(STDOUT_FILENO,
              fmt::format("{} compared in {}\n", counted(std::ssize(runs), "run"), command.output));
    return 0;
}

}  // namespace dtrain::launch
