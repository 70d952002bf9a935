// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <optional>
#include <string>

#include <dtrain/comm_error.hpp>
#include <dtrain/communicator.hpp>
#include <dtrain/error.hpp>

namespace dtrain::model {

/// Makes all ranks fail if one does: ranks on which `action` throws rethrow that exception, the others throw
/// an Error with the message of the lowest failing rank. Collective.
template <class Action>
void together(const Communicator& communicator, const Action& action) {
    std::exception_ptr own;
    std::optional<std::string> message;
    try {
        action();
    } catch (const MpiError&) {
        throw;
    } catch (const CommunicatorTimeout&) {
        throw;
    } catch (const std::exception& failed) {
        own = std::current_exception();
        message = failed.what();
    }
    const auto agreed = detail::agreed_error(communicator, message);
    if (own) std::rethrow_exception(own);
    if (agreed) throw Error(*agreed);
}

}  // namespace dtrain::model
