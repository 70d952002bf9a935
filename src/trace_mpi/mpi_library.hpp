// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <dlfcn.h>

#include "trace_mpi/mpi.hpp"

namespace dtrain::trace_mpi {

template <class Signature>
class MpiFunction;

/// A function of the MPI library, which is behind this one. It is looked up when it is called first: other
/// libraries may call it before this one's constructors have run.
template <class... Arguments>
class MpiFunction<int(Arguments...)> {
  public:
    explicit constexpr MpiFunction(const char* name) : name_(name) {}

    int operator()(Arguments... arguments) const {
        auto* function = found_.load(std::memory_order_relaxed);
        if (function == nullptr) [[unlikely]] {
            function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(RTLD_NEXT, name_));
            found_.store(function, std::memory_order_relaxed);
        }
        return function(arguments...);
    }

  private:
    const char* name_;
    mutable std::atomic<int (*)(Arguments...)> found_{nullptr};
};

}  // namespace dtrain::trace_mpi

/// Stands before each MPI_X of this library: mpi_library::X is that of the MPI library, and PMPI_X of this
/// one is the same as its MPI_X. By PMPI_X come programs in Fortran: Open MPI's functions for Fortran turn
/// handles into those of C and call it.
#define DTRAIN_RECORDED(name)                                               \
    namespace dtrain::trace_mpi::mpi_library {                              \
    constinit const MpiFunction<decltype(PMPI_##name)> name("PMPI_" #name); \
    }                                                                       \
    extern "C" decltype(PMPI_##name) PMPI_##name __attribute__((alias("MPI_" #name)))
