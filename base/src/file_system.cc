// SPDX-License-Identifier: Apache-2.0
#include <freshet/base/file_system.h>

namespace freshet::base {
namespace {

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

// A directory is synced into its parent before anything is made in it. So when a process died on
// the way, the innermost directory that exists is the only one that may not be durable yet.
Result<void> make_durable_directory(FileSystem& files, const std::string& path) {
  std::vector<std::string> missing;
  std::string innermost = path;
  while (innermost.size() > 1 && innermost.ends_with('/')) innermost.pop_back();
  while (!FRESHET_TRY(files.exists(innermost))) {
    missing.push_back(innermost);
    innermost = parent_of(innermost);
  }
  FRESHET_TRY(files.sync_directory(parent_of(innermost)));
  for (; !missing.empty(); missing.pop_back()) {
    FRESHET_TRY(files.make_directory(missing.back()));
    FRESHET_TRY(files.sync_directory(parent_of(missing.back())));
  }
  return {};
}

}  // namespace freshet::base
