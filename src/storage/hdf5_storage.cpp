// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <filesystem>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <hdf5.h>

#include <dtrain/error.hpp>

#include "base/available_memory.hpp"
#include "base/regular_file.hpp"
#include "base/text.hpp"
#include "storage/hdf5_calls.hpp"
#include "storage/hdf5_file.hpp"

/// Compares what a dataset claims with what exists, before anything is read or memory is allocated.
namespace dtrain::storage {
namespace {

constexpr std::size_t max_name = 200;  ///< maximum length in messages

struct Extents {
    std::array<hsize_t, H5S_MAX_RANK> of{};
    std::size_t rank = 0;
};

Extents extents_of(const Hdf5Handle& space) {
    Extents extents;
    const int rank = H5Sget_simple_extent_dims(space.get(), extents.of.data(), nullptr);
    extents.rank = static_cast<std::size_t>(std::max(0, rank));
    return extents;
}

/// Number of a dataset's values in a selection; -2 if the selection exceeds the dataset or is unlimited.
hssize_t values_in(const Hdf5Handle& selection, const Hdf5Handle& dataset) {
    constexpr hssize_t none = -2;  // distinct from HDF5's own error value
    // Files do not store the extent of a selection of everything.
    if (H5Sget_select_type(selection.get()) == H5S_SEL_ALL)
        return H5Sget_simple_extent_npoints(dataset.get());
    const auto extents = extents_of(dataset);
    Extents first;
    Extents last;
    if (H5Sget_simple_extent_ndims(selection.get()) != static_cast<int>(extents.rank) ||
        H5Sget_select_bounds(selection.get(), first.of.data(), last.of.data()) < 0)
        return none;
    for (std::size_t i = 0; i < extents.rank; ++i)
        if (last.of[i] >= extents.of[i]) return none;
    return H5Sget_select_npoints(selection.get());
}

/// A name returned by calls such as H5Pget_virtual_filename().
template <class Call>
std::string name_by(const Call& call) {
    const auto length = call(nullptr, 0);
    if (length < 0) return {};
    std::string name(static_cast<std::size_t>(length) + 1, '\0');
    call(name.data(), name.size());
    name.pop_back();
    return name;
}

}  // namespace

void Hdf5File::refuse(const std::string& dataset, const std::string& what) const {
    fail_reading(fmt::format("dataset '{}' {}", dataset, what));
}

std::int64_t Hdf5File::bytes() const {
    return static_cast<std::int64_t>(std::filesystem::file_size(path_));
}

void Hdf5File::check_storage(const Hdf5Handle& dataset, const std::string& name) const {
    const Hdf5Handle creation(H5Dget_create_plist(dataset.get()), H5Pclose);
    if (!creation.valid()) refuse(name, "is damaged");
    if (sound_.contains(name)) return;
    if (H5Pget_external_count(creation.get()) != 0)
        refuse(name, "has its values in other files (external storage), and only the file itself is read");
    const auto layout = H5Pget_layout(creation.get());
    if (layout == H5D_VIRTUAL) check_parts(creation, name);  // must be checked before HDF5 opens them

    const auto count = shape_of(dataset, name).count;
    if (count != 0 && layout == H5D_VIRTUAL)
        check_covers(creation, name, count);
    else if (count != 0 && layout == H5D_CHUNKED)
        check_chunks(dataset, creation, name);
    else if (count != 0)
        check_one_piece(dataset, name, count);
    sound_.insert(name);
}

void Hdf5File::check_one_piece(const Hdf5Handle& dataset, const std::string& name, std::int64_t count) const {
    const Hdf5Handle type(H5Dget_type(dataset.get()), H5Tclose);
    std::int64_t needed = 0;
    const auto stored = H5Dget_storage_size(dataset.get());
    if (stored == 0)
        refuse(name, fmt::format("says that it has {} values, but none was ever written", count));
    if (__builtin_mul_overflow(count, static_cast<std::int64_t>(H5Tget_size(type.get())), &needed) ||
        static_cast<hsize_t>(needed) > stored || needed > bytes())
        refuse(name, fmt::format("says that it has {} values, more than the file has", count));
}

void Hdf5File::check_chunks(const Hdf5Handle& dataset, const Hdf5Handle& creation,
                            const std::string& name) const {
    const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
    const Hdf5Handle type(H5Dget_type(dataset.get()), H5Tclose);
    const auto extents = extents_of(space);
    Extents chunk;
    chunk.rank =
        static_cast<std::size_t>(std::max(0, H5Pget_chunk(creation.get(), H5S_MAX_RANK, chunk.of.data())));
    std::int64_t wanted = 1;
    std::int64_t values = 1;
    bool is_possible = chunk.rank == extents.rank;
    for (std::size_t i = 0; i < extents.rank && is_possible; ++i)
        is_possible =
            chunk.of[i] > 0 &&
            !__builtin_mul_overflow(wanted, static_cast<std::int64_t>((extents.of[i] - 1) / chunk.of[i] + 1),
                                    &wanted) &&
            !__builtin_mul_overflow(values, static_cast<std::int64_t>(chunk.of[i]), &values);
    if (!is_possible) refuse(name, "has an impossible size");
#if H5_VERSION_GE(1, 10, 5)
    hsize_t found = 0;
    if (H5Dget_num_chunks(dataset.get(), space.get(), &found) < 0) refuse(name, "is damaged");
    if (found < static_cast<hsize_t>(wanted))
        refuse(name, fmt::format("has {} of its {} chunks; the others were never written", found, wanted));
#else
    if (H5Dget_storage_size(dataset.get()) < static_cast<hsize_t>(wanted))
        refuse(name, "has chunks that were never written");
#endif
    check_memory_at_hand(fmt::format("{}: a chunk of dataset '{}'", path_.string(), name), values,
                         static_cast<std::int64_t>(H5Tget_size(type.get())));
}

void Hdf5File::check_parts(const Hdf5Handle& creation, const std::string& name) const {
    std::size_t parts = 0;
    if (H5Pget_virtual_count(creation.get(), &parts) < 0) refuse(name, "is damaged");
    std::filesystem::path opened;
    std::optional<Hdf5File> file;
    for (std::size_t i = 0; i < parts; ++i) {
        const auto file_name = name_by(
            [&](char* to, std::size_t size) { return H5Pget_virtual_filename(creation.get(), i, to, size); });
        const auto part_name = name_by(
            [&](char* to, std::size_t size) { return H5Pget_virtual_dsetname(creation.get(), i, to, size); });
        // HDF5 substitutes numbers for names with %.
        if (!is_plain_name(file_name) || file_name.find('%') != std::string::npos ||
            part_name.find('%') != std::string::npos)
            refuse(name,
                   fmt::format("is a virtual one with values in '{}'; they are read from files in its own "
                               "folder alone, by their names",
                               one_line(file_name, max_name)));
        const auto path = real_path_.parent_path() / file_name;
        if (std::filesystem::is_symlink(path))
            refuse(name,
                   fmt::format("is a virtual one with values in '{}', a symbolic link, which is not followed",
                               one_line(file_name, max_name)));
        if (path != opened) {
            file = open(path);
            opened = path;
        }
        const auto part = file->open_dataset(part_name);
        const Hdf5Handle how(H5Dget_create_plist(part.get()), H5Pclose);
        if (!how.valid() || H5Pget_layout(how.get()) == H5D_VIRTUAL)
            file->refuse(part_name, fmt::format("is virtual, and so is '{}' of {}, which needs it", name,
                                                path_.string()));
        file->check_storage(part, part_name);
        const Hdf5Handle from(H5Pget_virtual_srcspace(creation.get(), i), H5Sclose);
        const Hdf5Handle to(H5Pget_virtual_vspace(creation.get(), i), H5Sclose);
        const Hdf5Handle part_space(H5Dget_space(part.get()), H5Sclose);
        if (values_in(from, part_space) != H5Sget_select_npoints(to.get()))
            file->refuse(part_name, fmt::format("has another shape than '{}' of {}, which shows it, says",
                                                name, path_.string()));
    }
}

void Hdf5File::check_covers(const Hdf5Handle& creation, const std::string& name, std::int64_t count) const {
    std::size_t parts = 0;
    H5Pget_virtual_count(creation.get(), &parts);
    std::int64_t covered = 0;
    for (std::size_t i = 0; i < parts; ++i) {
        const Hdf5Handle to(H5Pget_virtual_vspace(creation.get(), i), H5Sclose);
        const auto values = to.valid() ? H5Sget_select_npoints(to.get()) : -1;
        if (values < 0 || values > std::numeric_limits<std::int64_t>::max() - covered)
            refuse(name, "is a virtual one whose parts do not say how many values they have");
        covered += values;
    }
    if (covered != count)
        refuse(name, fmt::format("is a virtual one of {} values, and its parts have {}", count, covered));
}

}  // namespace dtrain::storage
