// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/mpi_error.hpp"

#include <string>

namespace dtrain {
namespace {

class MpiCategory final : public std::error_category {
  public:
    const char* name() const noexcept override { return "MPI"; }

    std::string message(int code) const override {
        char text[MPI_MAX_ERROR_STRING];
        int length = 0;
        // MPI 3 provides error strings only while it is running.
        if (!comm::mpi_is_running() || MPI_Error_string(code, text, &length) != MPI_SUCCESS)
            return "MPI error " + std::to_string(code);
        return {text, static_cast<std::size_t>(length)};
    }
};

}  // namespace

const std::error_category& mpi_category() {
    static const MpiCategory category;
    return category;
}

bool comm::mpi_is_running() {
    int initialised = 0;
    int finalised = 0;
    MPI_Initialized(&initialised);
    MPI_Finalized(&finalised);
    return initialised != 0 && finalised == 0;
}

}  // namespace dtrain
