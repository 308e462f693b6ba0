// SPDX-License-Identifier: Apache-2.0
// The errors of storage and compute as a client shall see them.
#pragma once

#include <freshet/base/result.h>

namespace freshet::adapter {

/// `error` with an SQLSTATE of its code, if nobody has chosen one. Names of what only the engine knows (collections,
/// shards) are kept from the client: those who read an object that is dropped meanwhile read that it was dropped.
base::Error client_error(base::Error error);

}  // namespace freshet::adapter
