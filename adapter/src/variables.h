// SPDX-License-Identifier: Apache-2.0
/// The session variables: names, defaults, checks, and which ones the client is told of.
///
/// SET LOCAL and SET inside a transaction that rolls back are undone at its end. A transaction begins with the modes
/// of default_transaction_*, and then has its own: transaction_isolation and transaction_read_only. Every isolation
/// level gives strict serializability; one that was not asked for by that name is shown as the level that tools of
/// PostgreSQL know for it, serializable.
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
  Variables(std::string version, std::string user);

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

  /// All values at a savepoint.
  struct Saved;
  [[nodiscard]] Saved save() const;
  void restore(const Saved& saved);

  /// Changes of reported variables since the last call, for ParameterStatus.
  std::vector<std::pair<std::string, std::string>> take_reports();
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> reported() const;

  [[nodiscard]] sql::SessionSettings settings(const std::string& user) const;
  [[nodiscard]] std::optional<std::uint64_t> statement_timeout_ms() const { return statement_timeout_ms_; }
  /// transaction_read_only
  [[nodiscard]] bool read_only() const { return read_only_; }
  [[nodiscard]] std::uint64_t max_result_bytes() const { return max_result_bytes_; }
  /// Grows with every change of a value.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  using Values = std::map<std::string, std::string, std::less<>>;
  struct Definition;
  static const std::vector<Definition>& definitions();
  [[nodiscard]] static const Definition* find(std::string_view name);
  [[nodiscard]] const std::string& value(const Definition& definition) const;
  void changed();
  Result<void> assign(const Definition& definition, std::optional<std::string> value, bool local);
  void report_changes(const Values& before);

  Values defaults_;
  Values values_;
  /// Values to go back to: at the end of the transaction (local), or if it fails.
  std::map<std::string, std::optional<std::string>, std::less<>> undo_local_;
  /// As the transaction found them; absent while it has changed nothing.
  std::optional<Values> at_begin_;
  bool in_transaction_ = false;
  /// The modes of the transaction that is under way, or of the next, unless it sets its own.
  std::string begun_isolation_;
  std::string begun_read_only_;
  std::vector<std::string> changed_;
  std::uint64_t version_ = 0;
  std::optional<std::uint64_t> statement_timeout_ms_;
  bool read_only_ = false;
  std::uint64_t max_result_bytes_ = 1ULL << 30;
};

struct Variables::Saved {
  Values values;
  std::map<std::string, std::optional<std::string>, std::less<>> undo_local;
};

}  // namespace freshet::adapter
