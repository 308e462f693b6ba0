// SPDX-License-Identifier: Apache-2.0
#include <freshet/base/assert.h>

#include <cstdio>
#include <cstdlib>

namespace freshet::base::detail {

void assertion_failed(const char* condition, const char* file, int line,
                      const std::string& values) {
  std::fprintf(stderr, "assertion failed: %s at %s:%d", condition, file, line);
  if (!values.empty()) std::fprintf(stderr, " with %s", values.c_str());
  std::fputc('\n', stderr);
  std::fflush(stderr);
  std::abort();
}

}  // namespace freshet::base::detail
