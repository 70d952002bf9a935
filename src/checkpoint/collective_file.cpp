// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/collective_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"

namespace dtrain::checkpoint {
namespace {

using Round = std::vector<storage::WriteExtent>;

/// Splits the extents into rounds that are written one after the other.
std::vector<Round> rounds_of(std::span<const storage::WriteExtent> extents, std::size_t round_bytes) {
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
    ExtentType(const std::vector<int>& lengths, const std::vector<MPI_Aint>& offsets) {
        MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), offsets.data(), MPI_BYTE,
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

/// The first offset at which the file does not have the extents' bytes.
std::optional<std::int64_t> first_lost_byte(const FileDescriptor& file,
                                            std::span<const storage::WriteExtent> extents) {
    std::vector<std::byte> piece(std::size_t{1} << 20);
    for (const auto& extent : extents)
        for (std::size_t at = 0; at < extent.bytes; at += piece.size()) {
            const auto bytes = std::min(piece.size(), extent.bytes - at);
            const auto offset = extent.offset + static_cast<std::int64_t>(at);
            const auto got = read_at(file.get(), piece.data(), bytes, offset).value_or(0);
            const auto* const differs =
                std::mismatch(piece.data(), piece.data() + got, extent.data + at).first;
            if (differs != piece.data() + bytes) return offset + (differs - piece.data());
        }
    return std::nullopt;
}

}  // namespace

CollectiveFile::CollectiveFile(Communicator communicator, std::filesystem::path path,
                               const std::map<std::string, std::string>& hints, Reserve reserve)
    : communicator_(std::move(communicator)), path_(std::move(path)), reserve_(std::move(reserve)) {
    // MPI_File_open of Open MPI does not return on the others if one rank cannot open the file.
    std::optional<std::string> error;
    if (::access(path_.parent_path().c_str(), W_OK | X_OK) != 0)
        error = fmt::format("cannot write {}: {}", path_.string(), std::generic_category().message(errno));
    throw_together<Error>(communicator_, error);
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    for (const auto& [key, value] : hints) MPI_Info_set(info, key.c_str(), value.c_str());
    const int code =
        MPI_File_open(MPI_COMM_WORLD, path_.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file_);
    MPI_Info_free(&info);
    check_together(code, "MPI_File_open");
}

void CollectiveFile::write(std::span<const storage::WriteExtent> extents, std::size_t round_bytes) {
    const bool has_room = reserve_together(extents);
    auto rounds = rounds_of(extents, round_bytes);
    rounds.resize(static_cast<std::size_t>(communicator_.max(static_cast<std::int64_t>(rounds.size()))));
    for (const auto& round : rounds) check_together(write_round(file_, round), "MPI_File_write_at_all");
    if (has_room) return;
    check_together(MPI_File_sync(file_), "MPI_File_sync");
    read_back_together(extents);
}

bool CollectiveFile::reserve_together(std::span<const storage::WriteExtent> extents) const {
    const auto end = communicator_.max(extents.empty() ? std::int64_t{0}
                                                       : extents.back().offset +
                                                             static_cast<std::int64_t>(extents.back().bytes));
    bool has_room = true;
    std::optional<std::string> error;
    if (communicator_.rank() == 0) try {
            has_room = reserve_(path_, end);
        } catch (const std::system_error& refused) {
            error = fmt::format("cannot write {}: no room for {} bytes: {}", path_.string(), end,
                                refused.code().message());
        }
    throw_together<Error>(communicator_, error);
    return communicator_.all(has_room);
}

void CollectiveFile::read_back_together(std::span<const storage::WriteExtent> extents) const {
    const FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    std::optional<std::string> error;
    if (const auto lost = file.valid() ? first_lost_byte(file, extents) : std::optional<std::int64_t>(0))
        error = fmt::format("cannot write {}: what was written at {} is not there; is the disk full?",
                            path_.string(), *lost);
    throw_together<Error>(communicator_, error);
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
