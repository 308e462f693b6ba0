// SPDX-License-Identifier: Apache-2.0
/// Snapshot scripts: `command`, its input, `----`, what is expected, a blank line. FRESHET_REWRITE=1 writes what came.
#pragma once

#include <functional>
#include <string>

namespace freshet::sql::testing {

/// Runs `path` under the tests' folder. The first line of a case is `command`, the rest `input`.
void run_script(const std::string& path,
                const std::function<std::string(const std::string& command, const std::string& input)>& answer);

}  // namespace freshet::sql::testing
