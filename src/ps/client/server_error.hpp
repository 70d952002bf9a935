// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/error.hpp>

namespace dtrain::ps {

/// A server could not process a request.
class ServerError : public Error {
  public:
    ServerError(int server, const std::string& why);
    int server() const { return server_; }

  private:
    int server_;
};

}  // namespace dtrain::ps
