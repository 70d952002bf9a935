// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <hdf5.h>

#include <dtrain/dataset.hpp>

namespace dtrain::tests {

/// Samples in compressed chunks, each larger than what HDF5 keeps of a dataset (1 MiB): whoever reads one
/// sample reads a whole chunk, and another one when the next sample is elsewhere. Sample i has the label i
/// % 7.
struct ChunkedSamples {
    static constexpr std::int64_t features = 1024;
    static constexpr std::int64_t rows_of_a_chunk = 320;
    static constexpr std::int64_t chunks = 4;
    static constexpr std::int64_t count = chunks * rows_of_a_chunk;

    explicit ChunkedSamples(const std::filesystem::path& path) {
        source.file = path;
        std::vector<float> x(static_cast<std::size_t>(count * features));
        std::uint32_t state = 1;
        for (auto& value : x) value = static_cast<float>(state = state * 1664525U + 1013904223U);
        std::vector<std::int64_t> y(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int64_t>(i % 7);
        const std::array<hsize_t, 2> extents{count, features};
        const std::array<hsize_t, 2> chunk{rows_of_a_chunk, features};
        const auto file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        const auto creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_chunk(creation, 2, chunk.data());
        H5Pset_deflate(creation, 1);
        write(file, "x", H5Screate_simple(2, extents.data(), nullptr), H5T_NATIVE_FLOAT, creation, x.data());
        write(file, "y", H5Screate_simple(1, extents.data(), nullptr), H5T_NATIVE_INT64, H5P_DEFAULT,
              y.data());
        H5Pclose(creation);
        H5Fclose(file);
    }

    std::uintmax_t bytes() const { return std::filesystem::file_size(source.file); }

    DatasetSource source;

  private:
    static void write(hid_t file, const char* name, hid_t space, hid_t type, hid_t creation,
                      const void* values) {
        const auto dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
        H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        H5Dclose(dataset);
        H5Sclose(space);
    }
};

/// Bytes that this process has read from files, ever, as the kernel counts them.
inline std::uintmax_t bytes_read() {
    std::ifstream in("/proc/self/io");
    std::string name;
    std::uintmax_t count = 0;
    in >> name >> count;
    return count;
}

}  // namespace dtrain::tests
