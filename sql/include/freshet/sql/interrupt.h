// SPDX-License-Identifier: Apache-2.0
/// Planning may take long; whoever waits for it can end it.
#pragma once

#include <functional>
#include <optional>

#include <freshet/base/result.h>

namespace freshet::sql {

/// Asked now and then while a statement is planned, on the thread that plans: the error that ends it, if it shall end.
/// Empty: it goes on to its own end.
using Interrupt = std::function<std::optional<Error>()>;

}  // namespace freshet::sql
