// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <hdf5.h>

#include "storage/hdf5_calls.hpp"
#include "storage/hdf5_file.hpp"

namespace dtrain::storage {

bool Hdf5File::has_attribute(const std::string& group, const std::string& attribute) const {
    const QuietHdf5 quiet;
    const auto handle = open_group(group);
    return H5Aexists(handle.get(), attribute.c_str()) > 0;
}

std::vector<std::string> Hdf5File::attributes(const std::string& group) const {
    const QuietHdf5 quiet;
    const auto handle = open_group(group);
    std::vector<std::string> names;
    const auto note = [](hid_t, const char* name, const H5A_info_t*, void* out) -> herr_t {
        static_cast<std::vector<std::string>*>(out)->emplace_back(name);
        return 0;
    };
    if (H5Aiterate2(handle.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, note, &names) < 0)
        fail_reading("group '" + group + "' is damaged");
    std::sort(names.begin(), names.end());
    return names;
}

Hdf5Handle Hdf5File::open_attribute(const std::string& group, const std::string& attribute) const {
    const auto handle = open_group(group);
    Hdf5Handle out(H5Aopen(handle.get(), attribute.c_str(), H5P_DEFAULT), H5Aclose);
    if (!out.valid()) fail_reading("attribute '" + attribute + "' of '" + group + "' is missing or damaged");
    return out;
}

std::string Hdf5File::read_text(const std::string& group, const std::string& attribute) const {
    const QuietHdf5 quiet;
    const auto handle = open_attribute(group, attribute);
    const Hdf5Handle type(H5Aget_type(handle.get()), H5Tclose);
    const Hdf5Handle space(H5Aget_space(handle.get()), H5Sclose);
    const auto wrong = [&] { fail_reading("attribute '" + attribute + "' of '" + group + "' is no text"); };
    if (!type.valid() || H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) > 0 ||
        H5Sget_simple_extent_npoints(space.get()) != 1)
        wrong();
    const auto size = H5Tget_size(type.get());
    if (size > static_cast<std::size_t>(bytes())) wrong();
    std::string text(size, '\0');
    const auto memory = text_type(size);
    if (H5Aread(handle.get(), memory.get(), text.data()) < 0) wrong();
    text.resize(text.find_last_not_of('\0') + 1);
    return text;
}

std::int64_t Hdf5File::read_integer(const std::string& group, const std::string& attribute) const {
    const QuietHdf5 quiet;
    const auto handle = open_attribute(group, attribute);
    const Hdf5Handle space(H5Aget_space(handle.get()), H5Sclose);
    std::int64_t value = 0;
    if (H5Sget_simple_extent_npoints(space.get()) != 1 || H5Aread(handle.get(), H5T_NATIVE_INT64, &value) < 0)
        fail_reading("attribute '" + attribute + "' of '" + group + "' is no whole number");
    return value;
}

}  // namespace dtrain::storage
