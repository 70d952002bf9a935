// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/export_rows.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "model/server_checkpointer.hpp"
#include "ps/job/saved_tables.hpp"
#include "ps/store/export_table.hpp"

namespace dtrain::native {
namespace {

using Export = void (*)(const ps::SparseTable&, const std::filesystem::path&);

Export export_for(const std::filesystem::path& file) {
    if (file.extension() == ".csv") return ps::export_csv;
    if (file.extension() == ".h5") return ps::export_hdf5;
    throw UsageError(fmt::format("--export {}: its name must end in .csv or .h5", file.string()));
}

std::string chosen_table(const std::filesystem::path& checkpoint, const ps::SavedTables& saved,
                         const std::optional<std::string>& wanted) {
    const auto names = saved.names();
    if (names.empty())
        throw UsageError(fmt::format("{} has no tables of ids: its parameters are those of {}, which is HDF5",
                                     checkpoint.string(), model::trainer_file));
    if (!wanted && names.size() == 1) return names.front();
    if (wanted && std::ranges::find(names, *wanted) != names.end()) return *wanted;
    throw UsageError(fmt::format("--table {}: {} has the tables {}", wanted ? *wanted : "is missing",
                                 checkpoint.string(), join(names, ", ")));
}

ps::SparseTable loaded(const ps::SavedTables& saved, const std::string& name) {
    const auto chain = saved.chain(name);
    const auto& last = chain.back();
    const auto header = ps::read_table_header(last.folder / last.files.front().file).header;
    return std::move(ps::load_table(header.options, chain, {}).table);
}

}  // namespace

std::string export_rows(const std::filesystem::path& checkpoint, const std::optional<std::string>& table,
                        const std::filesystem::path& file) {
    const auto write = export_for(file);
    if (!model::is_of_servers(checkpoint))
        throw UsageError(
            fmt::format("{} is no checkpoint of parameter servers: all of its tensors are HDF5 already, "
                        "--inspect lists them",
                        checkpoint.string()));
    return ps::making_sense(checkpoint, [&] {
        const ps::SavedTables saved(checkpoint);
        const auto name = chosen_table(checkpoint, saved, table);
        const auto rows = loaded(saved, name);
        write(rows, file);
        return fmt::format("{}: table {}, {} of {}\n", file.string(), name, counted(rows.size(), "row"),
                           counted(rows.width(), "number"));
    });
}

}  // namespace dtrain::native
