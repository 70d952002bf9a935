// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <optional>
#include <type_traits>

#include <hdf5.h>

#include "io/hdf5_file.hpp"

/// What the parts of Hdf5File share; nothing else includes it.
namespace dtrain::io {

static_assert(std::is_same_v<hid_t, Hdf5Handle::Id>);
static_assert(std::is_same_v<herr_t, int>);

/// Parallel HDF5 is built without thread safety: one thread of the process at a time may be inside it.
std::recursive_mutex& hdf5_mutex();

/// Around every group of calls: holds the mutex, and keeps HDF5 quiet, which prints a stack of its own
/// functions for every error; ours are exceptions instead. After a failure it stays quiet: 1.10 never lets go
/// of an object whose checksum is wrong, and would print "infinite loop closing library" about it when the
/// process ends.
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

/// Files repeat byte for byte.
inline Hdf5Handle without_times(hid_t kind) {
    auto properties = plist(kind);
    H5Pset_obj_track_times(properties.get(), false);
    return properties;
}

/// Access to groups and datasets that follows no link into another file; such a link is noted in
/// `leads_elsewhere`, which lives as long.
Hdf5Handle own_links_only(hid_t kind, bool& leads_elsewhere);

Hdf5Handle file_access(bool virtual_datasets);
Hdf5Handle text_type(std::size_t size);

/// Of values in files: little endian.
Hdf5Handle file_type(ElementType element);

/// Of values in memory.
Hdf5Handle memory_type(ElementType element);

/// What such values of a file are; nothing: none of these.
std::optional<ElementType> element_in(const Hdf5Handle& type);

}  // namespace dtrain::io
