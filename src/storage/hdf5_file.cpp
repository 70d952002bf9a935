// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "storage/hdf5_file.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <type_traits>

#include <fmt/format.h>
#include <hdf5.h>

#include <dtrain/error.hpp>

#include "base/available_memory.hpp"
#include "base/regular_file.hpp"
#include "storage/hdf5_calls.hpp"

namespace dtrain::storage {
/// The format of version 1.8 has checksums in all of its own structures and is readable by every later
/// release; virtual datasets need the format of 1.10.
Hdf5Handle file_access(bool virtual_datasets) {
    auto access = plist(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, virtual_datasets ? H5F_LIBVER_V110 : H5F_LIBVER_V18);
    H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
#if H5_VERSION_GE(1, 10, 7)
    // Parallel file systems are often mounted without locks, and these files are never modified in place.
    H5Pset_file_locking(access.get(), false, true);
#endif
    return access;
}

Hdf5Handle no_external_links(hid_t kind, bool& leads_elsewhere) {
    auto access = plist(kind);
    const auto refuse = [](const char*, const char*, const char*, const char*, unsigned*, hid_t,
                           void* found) -> herr_t {
        *static_cast<bool*>(found) = true;
        return -1;
    };
    H5Pset_elink_cb(access.get(), refuse, &leads_elsewhere);
    return access;
}

std::recursive_mutex& hdf5_mutex() {
    static std::recursive_mutex mutex;
    return mutex;
}

void start_hdf5() {
    const std::scoped_lock one_at_a_time(hdf5_mutex());
    H5open();
}

void leave_hdf5_at_exit() {
    H5dont_atexit();
}

QuietHdf5::QuietHdf5() : exceptions_(std::uncaught_exceptions()) {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietHdf5::~QuietHdf5() {
    if (std::uncaught_exceptions() == exceptions_) H5Eset_auto2(H5E_DEFAULT, function_, data_);
}

Hdf5Handle text_type(std::size_t size) {
    Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), std::max<std::size_t>(1, size));
    H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
    H5Tset_cset(type.get(), H5T_CSET_UTF8);
    return type;
}

Hdf5Handle& Hdf5Handle::operator=(Hdf5Handle&& other) noexcept {
    if (this != &other) {
        reset();
        id_ = std::exchange(other.id_, -1);
        close_ = other.close_;
    }
    return *this;
}

bool Hdf5Handle::reset() {
    const auto id = std::exchange(id_, -1);
    const std::scoped_lock one_at_a_time(hdf5_mutex());
    return id < 0 || close_(id) >= 0;
}

void Hdf5File::fail_reading(const std::string& what) const {
    throw UsageError(path_.string() + ": " + what);
}

void Hdf5File::fail_writing(const std::string& what) const {
    throw Error("cannot write " + path_.string() + ": " + what + " (is the file system full?)");
}

Hdf5File Hdf5File::open(const std::filesystem::path& path) {
    const QuietHdf5 quiet;
    Hdf5File out(path, {});
    open_regular_file(path);
    if (std::filesystem::is_symlink(path)) out.real_path_ = std::filesystem::canonical(path);
    const auto* const real = out.real_path_.c_str();
    if (H5Fis_hdf5(real) <= 0) out.fail_reading("this is no HDF5 file, or its beginning is damaged");
    const auto access = file_access(false);
    out.file_ = Hdf5Handle(H5Fopen(real, H5F_ACC_RDONLY, access.get()), H5Fclose);
    if (!out.file_.valid()) out.fail_reading("the HDF5 file is cut off or damaged");
    return out;
}

Hdf5Handle Hdf5File::open_dataset(const std::string& name) const {
    bool leads_elsewhere = false;
    const auto access = no_external_links(H5P_LINK_ACCESS, leads_elsewhere);
    Hdf5Handle object(H5Oopen(file_.get(), name.c_str(), access.get()), H5Oclose);
    if (leads_elsewhere) refuse(name, "is a link into another file, and only the file itself is read");
    if (!object.valid()) {
        // A damaged object and a missing one fail in the same way; checking the links on the path tells them
        // apart.
        for (auto end = name.find('/', 1);; end = name.find('/', end + 1)) {
            if (H5Lexists(file_.get(), name.substr(0, end).c_str(), access.get()) == 0)
                fail_reading("there is no dataset '" + name + "'");
            if (end == std::string::npos) break;
        }
        fail_reading("dataset '" + name + "' is damaged or the file is cut off");
    }
    if (H5Iget_type(object.get()) != H5I_DATASET) fail_reading("'" + name + "' is a group, not a dataset");
    return object;
}

Hdf5Handle Hdf5File::open_group(const std::string& name) const {
    bool leads_elsewhere = false;
    const auto access = no_external_links(H5P_GROUP_ACCESS, leads_elsewhere);
    Hdf5Handle group(H5Gopen2(file_.get(), name.c_str(), access.get()), H5Gclose);
    if (leads_elsewhere)
        fail_reading("group '" + name + "' is a link into another file, and only the file itself is read");
    if (!group.valid()) fail_reading("group '" + name + "' is missing or damaged");
    return group;
}

Hdf5DatasetInfo Hdf5File::shape_of(const Hdf5Handle& handle, const std::string& dataset) const {
    const Hdf5Handle space(H5Dget_space(handle.get()), H5Sclose);
    const int rank = space.valid() ? H5Sget_simple_extent_ndims(space.get()) : -1;
    if (rank < 0) refuse(dataset, "is damaged");
    std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);

    Hdf5DatasetInfo info;
    info.count = H5Sget_simple_extent_type(space.get()) == H5S_NULL ? 0 : 1;
    for (const auto extent : extents) {
        std::int64_t count = 0;
        if (extent > static_cast<hsize_t>(std::numeric_limits<std::int64_t>::max()) ||
            __builtin_mul_overflow(info.count, static_cast<std::int64_t>(extent), &count))
            refuse(dataset, "has an impossible size");
        info.count = count;
        info.shape.push_back(static_cast<std::int64_t>(extent));
    }
    return info;
}

Hdf5DatasetInfo Hdf5File::info(const std::string& dataset) const {
    const QuietHdf5 quiet;
    const auto handle = open_dataset(dataset);
    check_storage(handle, dataset);
    auto info = shape_of(handle, dataset);
    const Hdf5Handle type(H5Dget_type(handle.get()), H5Tclose);
    if (!type.valid()) refuse(dataset, "is damaged");
    info.element = element_in(type);
    switch (H5Tget_class(type.get())) {
        case H5T_INTEGER:
            info.type = Hdf5Type::integer;
            break;
        case H5T_FLOAT:
            info.type = Hdf5Type::floating;
            break;
        default:
            break;
    }
    return info;
}

template <class Value>
std::vector<Value> Hdf5File::read(const std::string& dataset) const {
    const auto count = info(dataset).count;
    const QuietHdf5 quiet;
    const auto handle = open_dataset(dataset);
    std::vector<Value> values;
    check_memory_at_hand(fmt::format("{}: dataset '{}'", path_.string(), dataset), count, sizeof(Value));
    try {
        values.resize(static_cast<std::size_t>(count));
    } catch (const std::exception&) {
        fail_reading("dataset '" + dataset + "' has " + std::to_string(count) +
                     " values, more than memory holds");
    }
    if (count != 0 && H5Dread(handle.get(), memory_type(data_type_of<Value>).get(), H5S_ALL, H5S_ALL,
                              H5P_DEFAULT, values.data()) < 0)
        fail_reading("dataset '" + dataset + "' cannot be read: it is damaged or the file is cut off");
    return values;
}

template std::vector<float> Hdf5File::read(const std::string&) const;
template std::vector<double> Hdf5File::read(const std::string&) const;
template std::vector<std::int64_t> Hdf5File::read(const std::string&) const;
template std::vector<std::int32_t> Hdf5File::read(const std::string&) const;
template std::vector<float16> Hdf5File::read(const std::string&) const;
template std::vector<bfloat16> Hdf5File::read(const std::string&) const;
template std::vector<std::uint8_t> Hdf5File::read(const std::string&) const;
template std::vector<std::int8_t> Hdf5File::read(const std::string&) const;
template std::vector<std::int16_t> Hdf5File::read(const std::string&) const;
template std::vector<std::uint16_t> Hdf5File::read(const std::string&) const;
template std::vector<std::uint32_t> Hdf5File::read(const std::string&) const;
template std::vector<std::uint64_t> Hdf5File::read(const std::string&) const;

void Hdf5File::read_rows(const std::string& dataset, std::int64_t first, std::int64_t count,
                         std::span<float> values) const {
    const QuietHdf5 quiet;
    const auto handle = open_dataset(dataset);
    check_storage(handle, dataset);
    const Hdf5Handle space(H5Dget_space(handle.get()), H5Sclose);
    const auto rank = static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space.get())));
    std::vector<hsize_t> start(rank, 0);
    std::vector<hsize_t> extents(rank);
    H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
    start.at(0) = static_cast<hsize_t>(first);
    extents.at(0) = static_cast<hsize_t>(count);
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, extents.data(), nullptr);
    const hsize_t wanted = values.size();
    const Hdf5Handle memory(H5Screate_simple(1, &wanted, nullptr), H5Sclose);
    if (H5Sget_select_npoints(space.get()) != static_cast<hssize_t>(values.size()) ||
        H5Dread(handle.get(), H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, values.data()) < 0)
        fail_reading(
            fmt::format("rows {} to {} of dataset '{}' cannot be read: it is damaged or the file is "
                        "cut off",
                        first, first + count - 1, dataset));
}

std::int64_t Hdf5File::chunk_rows(const std::string& dataset) const {
    const QuietHdf5 quiet;
    const auto handle = open_dataset(dataset);
    const Hdf5Handle creation(H5Dget_create_plist(handle.get()), H5Pclose);
    std::array<hsize_t, H5S_MAX_RANK> extents{};
    if (H5Pget_layout(creation.get()) != H5D_CHUNKED ||
        H5Pget_chunk(creation.get(), H5S_MAX_RANK, extents.data()) < 1)
        return 0;
    return static_cast<std::int64_t>(extents.front());
}

std::vector<std::string> Hdf5File::datasets_below(const std::string& group) const {
    const QuietHdf5 quiet;
    const auto handle = open_group(group);
    std::vector<std::string> names;
    const auto note = [](hid_t, const char* name, const H5O_info_t* object, void* out) -> herr_t {
        if (object->type == H5O_TYPE_DATASET) static_cast<std::vector<std::string>*>(out)->emplace_back(name);
        return 0;
    };
    if (H5Ovisit2(handle.get(), H5_INDEX_NAME, H5_ITER_NATIVE, note, &names, H5O_INFO_BASIC) < 0)
        fail_reading("group '" + group + "' is damaged");
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace dtrain::storage
