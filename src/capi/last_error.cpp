// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "capi/last_error.hpp"

#include <new>
#include <string>
#include <vector>

#include <dtrain/c_api.h>
#include <dtrain/comm_error.hpp>
#include <dtrain/spawn.hpp>

namespace dtrain::capi {
namespace {

/// A dtrain_error and what it points to.
class LastError {
  public:
    LastError() { set(DTRAIN_OK, "no function has failed in this thread"); }

    dtrain_error& set(int status, const char* message) {
        message_ = message;
        operation_.clear();
        reasons_.clear();
        missing_.clear();
        error_ = {.status = status, .message = message_.c_str(), .rank = -1, .operation = operation_.c_str()};
        return error_;
    }

    void set(const CommunicatorTimeout& timeout) {
        set(DTRAIN_TIMEOUT, timeout.what());
        operation_ = timeout.operation();
        for (const auto& missing : timeout.missing()) reasons_.push_back(missing.why);
        for (std::size_t i = 0; i < reasons_.size(); ++i)
            missing_.push_back({timeout.missing()[i].rank, reasons_[i].c_str()});
        error_.operation = operation_.c_str();
        error_.number = timeout.number();
        error_.waited = timeout.waited().count();
        error_.missing_count = missing_.size();
        error_.missing = missing_.data();
    }

    /// Without memory for a copy of the message.
    void set_static(int status, const char* message) {
        error_ = {.status = status, .message = message, .rank = -1, .operation = ""};
    }

    const dtrain_error& error() const { return error_; }

  private:
    std::string message_;
    std::string operation_;
    std::vector<std::string> reasons_;
    std::vector<dtrain_missing_rank> missing_;
    dtrain_error error_{};
};

LastError& last() {
    thread_local LastError error;
    return error;
}

void note() {
    try {
        throw;
    } catch (const CommunicatorTimeout& timeout) {
        last().set(timeout);
    } catch (const MpiError& failed) {
        last().set(DTRAIN_MPI_ERROR, failed.what()).mpi_code = failed.code().value();
    } catch (const SpawnError& failed) {
        last().set(DTRAIN_SPAWN_ERROR, failed.what()).rank = failed.rank();
    } catch (const VersionMismatch& mismatch) {
        last().set(DTRAIN_VERSION_MISMATCH, mismatch.what());
    } catch (const UsageError& error) {
        last().set(DTRAIN_USAGE_ERROR, error.what());
    } catch (const Error& error) {
        last().set(DTRAIN_ERROR, error.what());
    } catch (const std::bad_alloc&) {
        last().set_static(DTRAIN_NO_MEMORY, "there is not enough memory");
    } catch (const std::exception& error) {
        last().set(DTRAIN_INTERNAL_ERROR, error.what());
    } catch (...) {
        last().set(DTRAIN_INTERNAL_ERROR, "an exception that is no std::exception");
    }
}

}  // namespace

int note_current_exception() noexcept {
    try {
        note();
    } catch (...) {
        last().set_static(DTRAIN_NO_MEMORY, "there is not enough memory to say what failed");
    }
    return last().error().status;
}

}  // namespace dtrain::capi

const dtrain_error* dtrain_last_error(void) {
    return &dtrain::capi::last().error();
}
