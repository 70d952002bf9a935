// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dtrain/element_span.hpp>
#include <dtrain/tensor.hpp>

namespace dtrain::storage {

/// Owns an HDF5 identifier (hid_t) and closes it in its destructor.
class Hdf5Handle {
  public:
    using Id = std::int64_t;
    using Close = int (*)(Id);

    Hdf5Handle() = default;
    Hdf5Handle(Id id, Close close) : id_(id), close_(close) {}
    Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
    Hdf5Handle& operator=(Hdf5Handle&& other) noexcept;
    Hdf5Handle(const Hdf5Handle&) = delete;
    Hdf5Handle& operator=(const Hdf5Handle&) = delete;
    ~Hdf5Handle() { reset(); }

    Id get() const { return id_; }
    bool valid() const { return id_ >= 0; }
    /// False if HDF5 could not close it, which for a file means that not everything was written.
    bool reset();

  private:
    Id id_ = -1;
    Close close_ = nullptr;
};

/// Initializes HDF5. HDF5 queries MPI at that moment, which only the thread that may call MPI should do: that
/// thread must call this before other threads use Hdf5File.
void start_hdf5();

/// For a program that uses HDF5 only through Hdf5File, which closes its files itself. At exit HDF5 would
/// close open files, even while another thread writes them, and then print "infinite loop closing library" or
/// crash; this prevents it. Call before any use of HDF5.
void leave_hdf5_at_exit();

/// Checks for free disk space before a file is created. HDF5 1.10 crashes at process exit if it could not
/// complete a file.
/// @param structures number of groups, datasets and attributes that the file will have
/// @throws std::system_error with ENOSPC, naming the path
void check_space(const std::filesystem::path& path, std::int64_t bytes_of_values, std::size_t structures);

enum class Hdf5Type { integer, floating, other };

/// Layout options of a new file.
struct Hdf5Layout {
    std::int64_t alignment = 1;  ///< for datasets of at least `aligned_from` bytes
    std::int64_t aligned_from = 1 << 16;
    std::int64_t user_block = 0;    ///< zero bytes before HDF5's own; a power of two, at least 512
    bool virtual_datasets = false;  ///< requires HDF5 1.10 to read
};

/// Rows of a virtual dataset that are stored in another file, in the dataset of the same name.
struct Hdf5Part {
    std::string file;  ///< relative to the folder of the file with the virtual dataset
    std::int64_t first_row = 0;
    std::int64_t rows = 0;
};

struct Hdf5DatasetInfo {
    std::vector<std::int64_t> shape;
    std::int64_t count = 0;  ///< product of the shape
    Hdf5Type type = Hdf5Type::other;
    std::optional<DataType> element;  ///< nothing if unsupported
};

/// An HDF5 file with the few operations that dtrain needs. Thread-safe; calls are serialized. HDF5's own
/// error printing is disabled meanwhile. Files from untrusted sources cannot make it read elsewhere: neither
/// external links nor external storage are followed, and the sources of virtual datasets must be in the same
/// folder. Reading errors are UsageErrors that name the file and, where applicable, the dataset; writing
/// errors are Errors.
class Hdf5File {
  public:
    static Hdf5File open(const std::filesystem::path& path);
    /// Creates a file whose bytes depend only on what is written into it.
    static Hdf5File create(const std::filesystem::path& path, const Hdf5Layout& layout = {});

    Hdf5DatasetInfo info(const std::string& dataset) const;
    std::vector<float> read_floats(const std::string& dataset) const { return read<float>(dataset); }
    std::vector<std::int64_t> read_integers(const std::string& dataset) const {
        return read<std::int64_t>(dataset);
    }
    /// All values of a numeric dataset, converted to the nearest values of another type.
    /// @tparam Value a Reducible
    template <class Value>
    std::vector<Value> read(const std::string& dataset) const;
    /// Reads rows first .. first + count - 1; `values` must have their size.
    void read_rows(const std::string& dataset, std::int64_t first, std::int64_t count,
                   std::span<float> values) const;
    /// Number of rows per chunk; 0 if the dataset is not chunked.
    std::int64_t chunk_rows(const std::string& dataset) const;
    /// Names of all datasets below a group, relative to it, in byte order.
    std::vector<std::string> datasets_below(const std::string& group) const;

    /// For attributes of the group `group` ("/" is the root).
    bool has_attribute(const std::string& group, const std::string& attribute) const;
    std::vector<std::string> attributes(const std::string& group) const;
    std::string read_text(const std::string& group, const std::string& attribute) const;
    std::int64_t read_integer(const std::string& group, const std::string& attribute) const;

    void make_group(const std::string& group);
    /// Creates missing parent groups. The number of values must match the shape.
    template <class Value>
    void write(const std::string& dataset, std::span<const std::int64_t> shape,
               std::span<const Value> values) {
        write_bytes(dataset, shape, data_type_of<Value>, values.data());
    }
    /// Creates a contiguous dataset whose values somebody else writes, and returns their offset in the file;
    /// 0 if it has no values.
    std::int64_t allocate(const std::string& dataset, std::span<const std::int64_t> shape, DataType element);
    void write_virtual(const std::string& dataset, std::span<const std::int64_t> shape, DataType element,
                       std::span<const Hdf5Part> parts);
    void write_text(const std::string& group, const std::string& attribute, const std::string& value);
    void write_integer(const std::string& group, const std::string& attribute, std::int64_t value);

    /// Finishes writing. @throws Error if not everything reached the file
    void close();

  private:
    Hdf5File(std::filesystem::path path, Hdf5Handle file)
        : path_(std::move(path)), real_path_(path_), file_(std::move(file)) {}

    Hdf5Handle open_dataset(const std::string& name) const;
    /// Checks that all values are in this file, or, for a virtual dataset, in files of the same folder, that
    /// there are as many as the dataset claims, and that a chunk of them fits in memory.
    void check_storage(const Hdf5Handle& dataset, const std::string& name) const;
    void check_one_piece(const Hdf5Handle& dataset, const std::string& name, std::int64_t count) const;
    void check_chunks(const Hdf5Handle& dataset, const Hdf5Handle& creation, const std::string& name) const;
    void check_parts(const Hdf5Handle& creation, const std::string& name) const;
    void check_covers(const Hdf5Handle& creation, const std::string& name, std::int64_t count) const;
    [[noreturn]] void refuse(const std::string& dataset, const std::string& what) const;
    std::int64_t bytes() const;
    /// Fills only shape and count of the info.
    Hdf5DatasetInfo shape_of(const Hdf5Handle& dataset, const std::string& name) const;
    Hdf5Handle open_group(const std::string& name) const;
    Hdf5Handle open_attribute(const std::string& group, const std::string& attribute) const;
    void write_bytes(const std::string& dataset, std::span<const std::int64_t> shape, DataType element,
                     const void* values);
    void make_groups_of(const std::string& dataset);
    Hdf5Handle create_dataset(const std::string& dataset, std::span<const std::int64_t> shape,
                              DataType element, const Hdf5Handle& creation);
    void write_attribute(const std::string& group, const std::string& attribute, Hdf5Handle::Id file_type,
                         Hdf5Handle::Id memory_type, const void* value);
    [[noreturn]] void fail_reading(const std::string& what) const;
    [[noreturn]] void fail_writing(const std::string& what) const;

    std::filesystem::path path_;
    std::filesystem::path real_path_;  ///< symbolic links resolved: files that it names are beside it
    Hdf5Handle file_;
    mutable std::set<std::string> sound_;  ///< datasets that passed check_storage()
};

}  // namespace dtrain::storage
