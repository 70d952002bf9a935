// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <optional>
#include <type_traits>

#include <hdf5.h>

#include "storage/hdf5_file.hpp"

/// Internals shared by the source files of Hdf5File; included only by them.
namespace dtrain::storage {

static_assert(std::is_same_v<hid_t, Hdf5Handle::Id>);
static_assert(std::is_same_v<herr_t, int>);

/// Parallel HDF5 is built without thread safety: only one thread of the process may call it at a time.
std::recursive_mutex& hdf5_mutex();

/// Guards every group of HDF5 calls: holds the mutex and disables HDF5's printing of its own call stack for
/// every error, since errors become exceptions. After a failure, printing stays off: HDF5 1.10 never releases
/// an object whose checksum is wrong, and would print "infinite loop closing library" when the process ends.
class QuietHdf5 {
  public:
    QuietHdf5();
    QuietHdf5(const QuietHdf5&) = delete;
    QuietHdf5& operator=(const QuietHdf5&) = delete;
    ~QuietHdf5();

  private:
    std::scoped_lock<std::recursive_mutex> lock_{hdf5_mutex()};
    int exceptions_;
    H5E_auto2_t function_ = nullptr;
    void* data_ = nullptr;
};

inline Hdf5Handle plist(hid_t kind) {
    return {H5Pcreate(kind), H5Pclose};
}

/// Without timestamps, so that equal content gives equal bytes.
inline Hdf5Handle without_timestamps(hid_t kind) {
    auto properties = plist(kind);
    H5Pset_obj_track_times(properties.get(), false);
    return properties;
}

/// Access properties for groups and datasets that do not follow links into other files. If such a link is
/// found, sets `leads_elsewhere`, which must outlive them.
Hdf5Handle no_external_links(hid_t kind, bool& leads_elsewhere);

Hdf5Handle file_access(bool virtual_datasets);
Hdf5Handle text_type(std::size_t size);

/// The type of values in files: little endian.
Hdf5Handle file_type(DataType element);

/// The type of values in memory.
Hdf5Handle memory_type(DataType element);

/// The element type of values in a file; nothing if unsupported.
std::optional<DataType> element_in(const Hdf5Handle& type);

}  // namespace dtrain::storage
