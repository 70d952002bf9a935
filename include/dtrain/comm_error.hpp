// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <dtrain/error.hpp>

namespace dtrain {

/// Error codes of MPI ("MPI_ERR_TRUNCATE: message truncated").
const std::error_category& mpi_category();

/// A call of MPI that failed: `code().category()` is mpi_category().
class MpiError : public Error {
  public:
    MpiError(const std::string& operation, int code)
        : Error(operation + " failed: " + mpi_category().message(code)), code_(code, mpi_category()) {}

    const std::error_code& code() const { return code_; }

  private:
    std::error_code code_;
};

/// Ranks that run different versions of dtrain. All of them throw it, before anything else is exchanged.
class VersionMismatch : public UsageError {
  public:
    VersionMismatch(const std::string& message, std::vector<std::string> versions)
        : UsageError(message), versions_(std::move(versions)) {}

    const std::vector<std::string>& versions() const { return versions_; }  ///< by rank

  private:
    std::vector<std::string> versions_;
};

/// A rank that others wait for.
struct MissingRank {
    int rank = 0;          ///< in the communicator that waited
    std::string why = {};  ///< "in no operation; its last one was number 41", "did not answer"
};

/// Ranks did not come to an operation, or did not go on in it, before the deadline (DTRAIN_COMM_TIMEOUT). All
/// ranks that wait throw it at about the same time; one that comes later throws it at once. Nothing but
/// leaving is possible afterwards: operations throw it again, destructors wait for nobody and MPI is not
/// ended; say what happened and call abort_job().
class CommunicatorTimeout : public Error {
  public:
    CommunicatorTimeout(const std::string& message, std::string operation, std::uint64_t number,
                        std::chrono::duration<double> waited, std::vector<MissingRank> missing)
        : Error(message),
          operation_(std::move(operation)),
          number_(number),
          waited_(waited),
          missing_(std::move(missing)) {}

    const std::string& operation() const { return operation_; }  ///< "allreduce"
    std::uint64_t number() const { return number_; }  ///< of the operation in its communicator, from 1
    std::chrono::duration<double> waited() const { return waited_; }
    const std::vector<MissingRank>& missing() const { return missing_; }

  private:
    std::string operation_;
    std::uint64_t number_;
    std::chrono::duration<double> waited_;
    std::vector<MissingRank> missing_;
};

}  // namespace dtrain
