// SPDX-License-Identifier: Apache-2.0
/// Brings the system back to where it was: catalog, collections, indexes, views.
#pragma once

#include "services.h"

namespace freshet::adapter {

base::Future<std::unique_ptr<Services>> boot(AdapterEnvironment environment, AdapterConfig config);

}  // namespace freshet::adapter
