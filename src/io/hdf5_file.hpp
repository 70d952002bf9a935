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

namespace dtrain::io {

/// Owns one of HDF5's identifiers (hid_t); closes it when it goes.
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
    /// False when HDF5 could not close it, which for a file means that not all is written.
    bool reset();

  private:
    Id id_ = -1;
    Close close_ = nullptr;
};

/// HDF5 looks at MPI when it starts, which only the thread that may call MPI should do: to be called by it
/// before other threads use Hdf5File.
void start_hdf5();

/// For a program all of whose HDF5 files are Hdf5File, which close themselves. As it ends HDF5 would close
/// what is open, though another thread may be writing it: it prints "infinite loop closing library" then, or
/// crashes. To be called before anything of HDF5.
void leave_hdf5_at_exit();

/// HDF5 1.10 does not survive a file that it cannot finish: it crashes when the process ends. So files are
/// begun only where there is room for them.
/// @param structures groups, datasets and attributes that the file will have
/// @throws std::system_error with ENOSPC, naming the path
void check_space(const std::filesystem::path& path, std::int64_t bytes_of_values, std::size_t structures);

enum class Hdf5Type { integer, floating, other };

/// Where things lie in a new file.
struct Hdf5Layout {
    std::int64_t alignment = 1;  ///< of datasets with at least `aligned_from` bytes
    std::int64_t aligned_from = 1 << 16;
    std::int64_t user_block = 0;    ///< bytes before HDF5's own, a power of two from 512 on; zeros
    bool virtual_datasets = false;  ///< takes HDF5 1.10 to read
};

/// Rows of a virtual dataset that lie in another file, in the dataset of the same name.
struct Hdf5Part {
    std::string file;  ///< relative to the folder of the file that has the virtual dataset
    std::int64_t first_row = 0;
    std::int64_t rows = 0;
};

struct Hdf5DatasetInfo {
    std::vector<std::int64_t> shape;
    std::int64_t count = 0;  ///< product of the shape
    Hdf5Type type = Hdf5Type::other;
    std::optional<ElementType> element;  ///< nothing when it is none of these
};

/// An HDF5 file with the few operations that dtrain needs, from any thread: calls take turns. HDF5's own
/// printing of errors is off while one of these works. What a file that somebody else made may name is never
/// read outside of it: neither external links nor external storage are followed, and virtual datasets have
/// their values in files beside it. Reading errors are UsageErrors that name the file and,
/// where there is one, the dataset; writing errors are Errors.
class Hdf5File {
  public:
    static Hdf5File open(const std::filesystem::path& path);
    /// A new file, whose bytes depend on nothing but what is written into it.
    static Hdf5File create(const std::filesystem::path& path, const Hdf5Layout& layout = {});

    Hdf5DatasetInfo info(const std::string& dataset) const;
    std::vector<float> read_floats(const std::string& dataset) const { return read<float>(dataset); }
    std::vector<std::int64_t> read_integers(const std::string& dataset) const {
        return read<std::int64_t>(dataset);
    }
    /// All values of any dataset of numbers, as the nearest of another type.
    /// @tparam Value as comm::element_type()
    template <class Value>
    std::vector<Value> read(const std::string& dataset) const;
    /// Rows first .. first + count - 1, as many values as fill `values`.
    void read_rows(const std::string& dataset, std::int64_t first, std::int64_t count,
                   std::span<float> values) const;
    /// Rows that a chunk of the file holds; 0 when the dataset is not in chunks.
    std::int64_t chunk_rows(const std::string& dataset) const;
    /// Names of all datasets below a group, relative to it, in order of their bytes.
    std::vector<std::string> datasets_below(const std::string& group) const;

    /// Attributes of the group `group` ("/" is the root).
    bool has_attribute(const std::string& group, const std::string& attribute) const;
    std::vector<std::string> attributes(const std::string& group) const;
    std::string read_text(const std::string& group, const std::string& attribute) const;
    std::int64_t read_integer(const std::string& group, const std::string& attribute) const;

    void make_group(const std::string& group);
    /// Groups on the way are made as needed. Values are as many as the shape says.
    template <class Value>
    void write(const std::string& dataset, std::span<const std::int64_t> shape,
               std::span<const Value> values) {
        write_bytes(dataset, shape, comm::element_type<Value>(), values.data());
    }
    /// A dataset whose values somebody else writes, in one piece, at the offset in the file that this
    /// returns; 0 when it has none.
    std::int64_t allocate(const std::string& dataset, std::span<const std::int64_t> shape,
                          ElementType element);
    void write_virtual(const std::string& dataset, std::span<const std::int64_t> shape, ElementType element,
                       std::span<const Hdf5Part> parts);
    void write_text(const std::string& group, const std::string& attribute, const std::string& value);
    void write_integer(const std::string& group, const std::string& attribute, std::int64_t value);

    /// Ends writing. @throws Error when not everything reached the file.
    void close();

  private:
    Hdf5File(std::filesystem::path path, Hdf5Handle file)
        : path_(std::move(path)), real_path_(path_), file_(std::move(file)) {}

    Hdf5Handle open_dataset(const std::string& name) const;
    /// All values lie in this file, or, of a virtual dataset, in files of the same folder; there are as many
    /// as the dataset says, and memory holds a chunk of them.
    void check_storage(const Hdf5Handle& dataset, const std::string& name) const;
    void check_one_piece(const Hdf5Handle& dataset, const std::string& name, std::int64_t count) const;
    void check_chunks(const Hdf5Handle& dataset, const Hdf5Handle& creation, const std::string& name) const;
    void check_parts(const Hdf5Handle& creation, const std::string& name) const;
    void check_covers(const Hdf5Handle& creation, const std::string& name, std::int64_t count) const;
    [[noreturn]] void refuse(const std::string& dataset, const std::string& what) const;
    std::int64_t bytes() const;
    /// Of the info, nothing but shape and count.
    Hdf5DatasetInfo shape_of(const Hdf5Handle& dataset, const std::string& name) const;
    Hdf5Handle open_group(const std::string& name) const;
    Hdf5Handle open_attribute(const std::string& group, const std::string& attribute) const;
    void write_bytes(const std::string& dataset, std::span<const std::int64_t> shape, ElementType element,
                     const void* values);
    void make_groups_of(const std::string& dataset);
    Hdf5Handle create_dataset(const std::string& dataset, std::span<const std::int64_t> shape,
                              ElementType element, const Hdf5Handle& creation);
    void write_attribute(const std::string& group, const std::string& attribute, Hdf5Handle::Id file_type,
                         Hdf5Handle::Id memory_type, const void* value);
    [[noreturn]] void fail_reading(const std::string& what) const;
    [[noreturn]] void fail_writing(const std::string& what) const;

    std::filesystem::path path_;
    std::filesystem::path real_path_;  ///< no symbolic link: what the file names lies beside this
    Hdf5Handle file_;
    mutable std::set<std::string> sound_;  ///< datasets that check_storage() has seen
};

}  // namespace dtrain::io
