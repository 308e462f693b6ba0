// SPDX-License-Identifier: Apache-2.0
/// The session variables: names, defaults, checks, and which ones the client is told of.
///
/// SET LOCAL and SET inside a transaction that rolls back are undone at its end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/sql/catalog_view.h>

namespace freshet::adapter {

class Variables {
 public:
  explicit Variables(std::string version);

  struct Shown {
    std::string_view name;
    std::string value;
    std::string_view description;
  };
  /// 42704 for an unknown name. Names compare without case.
  [[nodiscard]] Result<std::string> get(std::string_view name) const;
  [[nodiscard]] std::vector<Shown> all() const;
  /// 22023 for a bad value, 55P02 for one that cannot change. No value: back to the default.
  Result<void> set(std::string_view name, const std::optional<std::vector<std::string>>& values,
                   bool local);
  /// The value a new session starts with (a startup parameter).
  Result<void> set_default(std::string_view name, std::string value);
  void reset_all();
  void begin_transaction();
  void end_transaction(bool committed);

  /// Changes of reported variables since the last call, for ParameterStatus.
  std::vector<std::pair<std::string, std::string>> take_reports();
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> reported() const;

  [[nodiscard]] sql::SessionSettings settings(const std::string& user) const;
  [[nodiscard]] std::optional<std::uint64_t> statement_timeout_ms() const { return statement_timeout_ms_; }
  [[nodiscard]] bool default_read_only() const { return default_read_only_; }
  /// Grows with every change of a value.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  struct Definition;
  static const std::vector<Definition>& definitions();
  [[nodiscard]] static const Definition* find(std::string_view name);
  [[nodiscard]] const std::string& value(const Definition& definition) const;
  void changed();
  Result<void> assign(const Definition& definition, std::optional<std::string> value, bool local);

  std::map<std::string, std::string, std::less<>> defaults_;
  std::map<std::string, std::string, std::less<>> values_;
  /// Values to go back to: at the end of the transaction (local), or if it fails.
  std::map<std::string, std::optional<std::string>, std::less<>> undo_local_;
  /// As the transaction found them; absent while it has changed nothing.
  std::optional<std::map<std::string, std::string, std::less<>>> at_begin_;
  bool in_transaction_ = false;
  std::vector<std::string> changed_;
  std::uint64_t version_ = 0;
  std::optional<std::uint64_t> statement_timeout_ms_;
  bool default_read_only_ = false;
};

}  // namespace freshet::adapter
