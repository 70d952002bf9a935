// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/collective_file.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::checkpoint {
namespace {

/// MPI counts are int, and the aggregators of a node buffer what they collect.
constexpr std::size_t round_bytes = std::size_t{256} << 20;

using Round = std::vector<io::WriteExtent>;

/// Splits the extents into rounds that are written one after the other.
std::vector<Round> rounds_of(std::span<const io::WriteExtent> extents) {
    std::vector<Round> rounds;
    std::size_t room = 0;
    for (auto rest : extents)
        while (rest.bytes > 0) {
            if (room == 0) {
                rounds.emplace_back();
                room = round_bytes;
            }
            const auto bytes = std::min(room, rest.bytes);
            rounds.back().push_back({rest.data, bytes, rest.offset});
            rest = {rest.data + bytes, rest.bytes - bytes, rest.offset + static_cast<std::int64_t>(bytes)};
            room -= bytes;
        }
    return rounds;
}

/// Owns an MPI datatype made of byte extents.
class ExtentType {
  public:
    ExtentType(const std::vector<int>& lengths, const std::vector<MPI_Aint>& places) {
        MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_BYTE,
                                 &type_);
        MPI_Type_commit(&type_);
    }
    ExtentType(const ExtentType&) = delete;
    ExtentType& operator=(const ExtentType&) = delete;
    ~ExtentType() { MPI_Type_free(&type_); }

    MPI_Datatype get() const { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Returns MPI's error code; a rank without extents participates with zero bytes.
int write_round(MPI_File file, const Round& round) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> in_memory;
    std::vector<MPI_Aint> in_file;
    for (const auto& extent : round) {
        lengths.push_back(static_cast<int>(extent.bytes));
        in_file.push_back(extent.offset);
        MPI_Get_address(extent.data, &in_memory.emplace_back());
    }
    const ExtentType memory(lengths, in_memory);
    const ExtentType view(lengths, in_file);
    const bool has_any = !round.empty();
    // All ranks make both calls whatever the first returns, so that none waits for another.
    const int set =
        MPI_File_set_view(file, 0, MPI_BYTE, has_any ? view.get() : MPI_BYTE, "native", MPI_INFO_NULL);
    const int written = MPI_File_write_at_all(file, 0, MPI_BOTTOM, has_any ? 1 : 0,
                                              has_any ? memory.get() : MPI_BYTE, MPI_STATUS_IGNORE);
    return set != MPI_SUCCESS ? set : written;
}

}  // namespace

CollectiveFile::CollectiveFile(Communicator communicator, std::filesystem::path path,
                               const std::map<std::string, std::string>& hints)
    : communicator_(std::move(communicator)), path_(std::move(path)) {
    communicator_.barrier();
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    for (const auto& [key, value] : hints) MPI_Info_set(info, key.c_str(), value.c_str());
    const int code =
        MPI_File_open(MPI_COMM_WORLD, path_.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file_);
    MPI_Info_free(&info);
    check_together(code, "MPI_File_open");
}

void CollectiveFile::write(std::span<const io::WriteExtent> extents) {
    auto rounds = rounds_of(extents);
    rounds.resize(static_cast<std::size_t>(communicator_.max(static_cast<std::int64_t>(rounds.size()))));
    for (const auto& round : rounds) check_together(write_round(file_, round), "MPI_File_write_at_all");
}

void CollectiveFile::close() {
    communicator_.barrier();
    const int synced = MPI_File_sync(file_);
    const int closed = MPI_File_close(&file_);
    check_together(synced != MPI_SUCCESS ? synced : closed, "MPI_File_sync");
}

void CollectiveFile::check_together(int code, const char* operation) const {
    std::optional<std::string> error;
    if (code != MPI_SUCCESS)
        error = fmt::format("cannot write {}: {}", path_.string(), MpiError(operation, code).what());
    throw_together<Error>(communicator_, error);
}

}  // namespace dtrain::checkpoint
