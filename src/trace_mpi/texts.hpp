// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "trace/operation_log.hpp"
#include "trace_mpi/handle_table.hpp"
#include "trace_mpi/mpi.hpp"

namespace dtrain::trace_mpi {

/// The log's texts for what calls of MPI are described by; those that do not change are looked up once.
class Texts {
  public:
    explicit Texts(trace::OperationLog& log) : log_(log) {}

    /// @param literal of the library, so that its address is its name
    std::uint16_t function(const char* literal);

    /// "float" of MPI_FLOAT; of other types the name that the program gave, or "16 bytes".
    std::uint16_t type(MPI_Datatype type);

    /// "sum" of MPI_SUM.
    std::uint16_t reduction(MPI_Op op);

    /// "train+0x1a2f", which `addr2line -e train 0x1a2f` turns into a line. Of a call that came through the
    /// MPI library's functions for Fortran, where the program called these.
    std::uint16_t source(const void* return_address);

  private:
    template <std::size_t size>
    using Known = HandleTable<std::uint16_t, size>;

    /// @param index_of called only if the key is new
    template <std::size_t size, class IndexOf>
    std::uint16_t kept(Known<size>& known, std::uintptr_t key, const IndexOf& index_of);

    /// `of_library` if it is no location in the program.
    std::uint16_t source_or_library(const void* return_address);
    /// Of this thread's innermost call that is one in the program.
    std::uint16_t source_behind_library();

    trace::OperationLog& log_;
    std::mutex mutex_;  // of changes
    Known<512> functions_;
    Known<128> types_;
    Known<64> reductions_;
    Known<512> sources_;
};

}  // namespace dtrain::trace_mpi
