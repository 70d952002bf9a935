// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>
#include <sys/statvfs.h>
#include <system_error>
#include <utility>

#include <hdf5.h>

#include <dtrain/error.hpp>

#include "storage/hdf5_calls.hpp"
#include "storage/hdf5_file.hpp"

namespace dtrain::storage {
namespace {

Hdf5Handle space_of(std::span<const std::int64_t> shape) {
    const std::vector<hsize_t> extents(shape.begin(), shape.end());
    return {extents.empty() ? H5Screate(H5S_SCALAR)
                            : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
            H5Sclose};
}

/// Selects `count` rows, starting with `first`.
void select_rows(const Hdf5Handle& space, std::span<const std::int64_t> shape, std::int64_t first,
                 std::int64_t count) {
    if (shape.empty()) return;
    std::vector<hsize_t> start(shape.size(), 0);
    std::vector<hsize_t> extents(shape.begin(), shape.end());
    start.front() = static_cast<hsize_t>(first);
    extents.front() = static_cast<hsize_t>(count);
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, extents.data(), nullptr);
}

constexpr std::uint64_t bytes_of_a_file = 16 << 10;
constexpr std::uint64_t bytes_of_a_structure = 1 << 10;

}  // namespace

void check_space(const std::filesystem::path& path, std::int64_t bytes_of_values, std::size_t structures) {
    struct statvfs system {};
    const auto folder = path.parent_path();
    if (::statvfs(folder.empty() ? "." : folder.c_str(), &system) != 0) return;
    const auto needed =
        static_cast<std::uint64_t>(bytes_of_values) + bytes_of_a_file + bytes_of_a_structure * structures;
    if (static_cast<std::uint64_t>(system.f_bfree) * system.f_frsize < needed)
        throw std::system_error(ENOSPC, std::generic_category(), path.string());
}

Hdf5File Hdf5File::create(const std::filesystem::path& path, const Hdf5Layout& layout) {
    const QuietHdf5 quiet;
    const auto access = file_access(layout.virtual_datasets);
    if (layout.alignment > 1)
        H5Pset_alignment(access.get(), layout.aligned_from, static_cast<hsize_t>(layout.alignment));
    const auto creation = without_timestamps(H5P_FILE_CREATE);
    if (layout.user_block > 0) H5Pset_userblock(creation.get(), static_cast<hsize_t>(layout.user_block));
    errno = 0;
    Hdf5File out(path, {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose});
    if (!out.file_.valid())
        throw Error("cannot write " + path.string() +
                    (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
    return out;
}

void Hdf5File::make_group(const std::string& group) {
    const QuietHdf5 quiet;
    const auto creation = without_timestamps(H5P_GROUP_CREATE);
    const Hdf5Handle handle(H5Gcreate2(file_.get(), group.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                            H5Gclose);
    if (!handle.valid()) fail_writing("group '" + group + "'");
}

void Hdf5File::make_groups_of(const std::string& dataset) {
    // HDF5 would create them too, but with timestamps.
    for (auto end = dataset.find('/', 1); end != std::string::npos; end = dataset.find('/', end + 1))
        if (const auto group = dataset.substr(0, end);
            H5Lexists(file_.get(), group.c_str(), H5P_DEFAULT) <= 0)
            make_group(group);
}

Hdf5Handle Hdf5File::create_dataset(const std::string& dataset, std::span<const std::int64_t> shape,
                                    DataType element, const Hdf5Handle& creation) {
    make_groups_of(dataset);
    const auto space = space_of(shape);
    const auto type = file_type(element);
    Hdf5Handle handle(H5Dcreate2(file_.get(), dataset.c_str(), type.get(), space.get(), H5P_DEFAULT,
                                 creation.get(), H5P_DEFAULT),
                      H5Dclose);
    if (!handle.valid()) fail_writing("dataset '" + dataset + "'");
    return handle;
}

void Hdf5File::write_bytes(const std::string& dataset, std::span<const std::int64_t> shape, DataType element,
                           const void* values) {
    const QuietHdf5 quiet;
    const auto creation = without_timestamps(H5P_DATASET_CREATE);
    H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
    const auto handle = create_dataset(dataset, shape, element, creation);
    if (H5Dwrite(handle.get(), memory_type(element).get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        fail_writing("dataset '" + dataset + "'");
}

std::int64_t Hdf5File::allocate(const std::string& dataset, std::span<const std::int64_t> shape,
                                DataType element) {
    const QuietHdf5 quiet;
    const auto creation = without_timestamps(H5P_DATASET_CREATE);
    H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
    H5Pset_layout(creation.get(), H5D_CONTIGUOUS);
    H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);
    const auto handle = create_dataset(dataset, shape, element, creation);
    const auto offset = H5Dget_offset(handle.get());
    return offset == HADDR_UNDEF ? 0 : static_cast<std::int64_t>(offset);
}

void Hdf5File::write_virtual(const std::string& dataset, std::span<const std::int64_t> shape,
                             DataType element, std::span<const Hdf5Part> parts) {
    const QuietHdf5 quiet;
    const auto creation = without_timestamps(H5P_DATASET_CREATE);
    for (const auto& part : parts) {
        std::vector<std::int64_t> part_shape(shape.begin(), shape.end());
        if (!part_shape.empty()) part_shape.front() = part.rows;
        const auto from = space_of(part_shape);
        const auto to = space_of(shape);
        select_rows(to, shape, part.first_row, part.rows);
        if (H5Pset_virtual(creation.get(), to.get(), part.file.c_str(), dataset.c_str(), from.get()) < 0)
            fail_writing("virtual dataset '" + dataset + "'");
    }
    create_dataset(dataset, shape, element, creation);
}

void Hdf5File::write_attribute(const std::string& group, const std::string& attribute,
                               Hdf5Handle::Id type_in_file, Hdf5Handle::Id type_in_memory,
                               const void* value) {
    const QuietHdf5 quiet;
    const auto target = open_group(group);
    const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Hdf5Handle handle(
        H5Acreate2(target.get(), attribute.c_str(), type_in_file, space.get(), H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose);
    if (!handle.valid() || H5Awrite(handle.get(), type_in_memory, value) < 0)
        fail_writing("attribute '" + attribute + "'");
}

void Hdf5File::write_text(const std::string& group, const std::string& attribute, const std::string& value) {
    const QuietHdf5 quiet;
    const auto type = text_type(value.size());
    write_attribute(group, attribute, type.get(), type.get(), value.c_str());
}

void Hdf5File::write_integer(const std::string& group, const std::string& attribute, std::int64_t value) {
    const QuietHdf5 quiet;
    write_attribute(group, attribute, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

void Hdf5File::close() {
    const QuietHdf5 quiet;
    if (file_.valid() && H5Fflush(file_.get(), H5F_SCOPE_LOCAL) < 0) {
        file_.reset();
        fail_writing("not all data reached the file");
    }
    if (!file_.reset()) fail_writing("not all data reached the file");
}

}  // namespace dtrain::storage
