// SPDX-License-Identifier: Apache-2.0
#include "variables.h"

#include <algorithm>
#include <charconv>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/datetime.h>

namespace freshet::adapter {
namespace {

constexpr SqlState kCannotChange = "55P02";

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

using Check = Result<std::string> (*)(std::string value);

Result<std::string> any(std::string value) { return value; }

Result<std::string> boolean(std::string value) {
  const std::string v = lower(value);
  for (const char* yes : {"on", "true", "yes", "1", "t", "y"}) {
    if (v == yes) return std::string("on");
  }
  for (const char* no : {"off", "false", "no", "0", "f", "n"}) {
    if (v == no) return std::string("off");
  }
  return fail(sqlstate::kInvalidParameterValue, "parameter requires a Boolean value");
}

Result<std::string> integer(std::string value) {
  std::int64_t number = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) {
    return fail(sqlstate::kInvalidParameterValue, "invalid value: \"" + value + "\"");
  }
  return value;
}

Result<std::string> duration(std::string value) {
  std::int64_t number = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
  const std::string unit = lower(std::string_view(parsed.ptr, value.data() + value.size()));
  if (parsed.ec != std::errc() || number < 0) {
    return fail(sqlstate::kInvalidParameterValue, "invalid value: \"" + value + "\"");
  }
  std::int64_t milliseconds = 0;
  if (unit.empty() || unit == "ms") milliseconds = 1;
  if (unit == "s") milliseconds = 1000;
  if (unit == "min") milliseconds = 60'000;
  if (unit == "h") milliseconds = 3'600'000;
  if (unit == "d") milliseconds = 86'400'000;
  // As in PostgreSQL, a duration is at most 2^31 - 1 milliseconds.
  if (milliseconds == 0 || number > INT32_MAX / milliseconds) {
    return fail(sqlstate::kInvalidParameterValue, "invalid value: \"" + value + "\"");
  }
  return std::to_string(number * milliseconds);
}

// Bytes of a size like 100, 64kB or 1GB.
std::optional<std::uint64_t> bytes_of(std::string_view value) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  std::string_view unit(parsed.ptr, static_cast<std::size_t>(value.data() + value.size() - parsed.ptr));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  int shift = 0;
  if (unit == "kB") shift = 10;
  else if (unit == "MB") shift = 20;
  else if (unit == "GB") shift = 30;
  else if (unit == "TB") shift = 40;
  else if (!unit.empty() && unit != "B") return std::nullopt;
  if (number > (UINT64_MAX >> shift)) return std::nullopt;
  return number << shift;
}

Result<std::string> size(std::string value) {
  if (bytes_of(value)) return value;
  Error error = sql_error(sqlstate::kInvalidParameterValue, "invalid value: \"" + value + "\"");
  error.hint = "Valid units are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".";
  return fail(std::move(error));
}

Result<std::string> time_zone(std::string value) {
  const auto zone = repr::TimeZone::from_setting(value);
  if (!zone) return fail(sqlstate::kInvalidParameterValue, "invalid value: \"" + value + "\"");
  return zone->is_fixed() ? value : zone->name();
}

template <const char* const* Allowed, std::size_t N>
Result<std::string> one_of(std::string value) {
  const std::string v = lower(value);
  for (std::size_t i = 0; i < N; ++i) {
    if (v == lower(Allowed[i])) return std::string(Allowed[i]);
  }
  return fail(sqlstate::kInvalidParameterValue, "invalid value: \"" + value + "\"");
}

constexpr const char* kEncodings[] = {"UTF8", "UTF-8", "UNICODE", "SQL_ASCII"};
Result<std::string> encoding(std::string value) {
  std::string v = lower(value);
  std::erase(v, '\'');
  for (const char* name : kEncodings) {
    if (v == lower(name)) return std::string("UTF8");
  }
  return fail(sqlstate::kInvalidParameterValue, "client encoding \"" + value + "\" is not supported");
}

constexpr const char* kIsolations[] = {"read uncommitted", "read committed", "repeatable read",
                                       "serializable", "strict serializable"};
constexpr const char* kIntervalStyles[] = {"postgres"};
constexpr const char* kMessages[] = {"debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log",
                                     "notice", "info", "warning", "error"};
constexpr const char* kByteaOutputs[] = {"hex"};

Result<std::string> date_style(std::string value) {
  if (lower(value).find("iso") == std::string::npos) {
    return fail(sqlstate::kInvalidParameterValue, "DateStyle \"" + value + "\" is not supported");
  }
  return std::string("ISO, MDY");
}

}  // namespace

struct Variables::Definition {
  std::string_view name;
  std::string_view value;
  Check check;
  bool reported;
  bool fixed;
  std::string_view description;
};

const std::vector<Variables::Definition>& Variables::definitions() {
  static const std::vector<Definition> kAll{
      {"application_name", "", any, true, false, "The application name shown in statistics."},
      {"bytea_output", "hex", one_of<kByteaOutputs, 1>, false, false, "The output format of bytea."},
      {"check_function_bodies", "on", boolean, false, false, "Accepted for compatibility."},
      {"client_encoding", "UTF8", encoding, true, false, "The client's character set."},
      {"client_min_messages", "notice", one_of<kMessages, std::size(kMessages)>, false, false,
       "The least level of messages sent to the client."},
      {"cluster", "quickstart", any, false, false, "Accepted for compatibility."},
      {"database", "materialize", any, false, false, "The current database."},
      {"datestyle", "ISO, MDY", date_style, true, false, "The display format of dates."},
      {"default_transaction_isolation", "strict serializable",
       one_of<kIsolations, std::size(kIsolations)>, false, false, "The isolation level of new transactions."},
      {"default_transaction_read_only", "off", boolean, false, false,
       "The access mode of new transactions."},
      {"default_table_access_method", "heap", any, false, true, "Tables have one form."},
      {"extra_float_digits", "1", integer, false, false, "Digits of floating-point output."},
      {"idle_in_transaction_session_timeout", "0", duration, false, false, "In milliseconds."},
      {"integer_datetimes", "on", boolean, true, true, "Always on."},
      {"intervalstyle", "postgres", one_of<kIntervalStyles, 1>, true, false,
       "The display format of intervals."},
      {"is_superuser", "on", boolean, true, true, "Whether the user is a superuser."},
      {"lock_timeout", "0", duration, false, false, "Accepted for compatibility."},
      {"max_result_size", "1GB", size, false, false, "A larger result is refused (54000)."},
      {"max_identifier_length", "63", integer, false, true, "Longest identifier, in bytes."},
      {"max_index_keys", "32", integer, false, true, "What PostgreSQL's indexes have; Freshet's have no limit of their own."},
      {"row_security", "on", boolean, false, false, "Accepted for compatibility."},
      {"search_path", "public", any, true, false, "Schemas searched for unqualified names."},
      {"server_encoding", "UTF8", any, true, true, "The server's character set."},
      {"server_version", "15.1", any, true, true, "The PostgreSQL version that is spoken."},
      {"server_version_num", "150001", integer, false, true, "The same as a number."},
      {"session_authorization", "", any, true, true, "The session's user."},
      {"standard_conforming_strings", "on", boolean, true, false, "Always on."},
      {"statement_timeout", "0", duration, false, false, "In milliseconds; 0 is none."},
      {"synchronize_seqscans", "on", boolean, false, false, "Accepted for compatibility."},
      {"timezone", "UTC", time_zone, true, false, "The time zone of timestamps with time zone."},
      {"transaction_isolation", "strict serializable", one_of<kIsolations, std::size(kIsolations)>,
       false, false, "The isolation level of this transaction."},
      {"transaction_read_only", "off", boolean, false, false, "The access mode of this transaction."},
      {"work_mem", "4MB", any, false, false, "Accepted for compatibility."},
      {"freshet_version", "", any, false, true, "The version of Freshet."},
  };
  return kAll;
}

const Variables::Definition* Variables::find(std::string_view name) {
  const std::string wanted = lower(name);
  for (const Definition& definition : definitions()) {
    if (definition.name == wanted) return &definition;
  }
  return nullptr;
}

Variables::Variables(std::string version, std::string user) {
  defaults_["freshet_version"] = std::move(version);
  defaults_["session_authorization"] = std::move(user);
  changed();
}

const std::string& Variables::value(const Definition& definition) const {
  if (auto it = values_.find(definition.name); it != values_.end()) return it->second;
  if (definition.name == "transaction_isolation") return begun_isolation_;
  if (definition.name == "transaction_read_only") return begun_read_only_;
  if (auto it = defaults_.find(definition.name); it != defaults_.end()) return it->second;
  static const std::map<std::string_view, std::string> kBuiltIn = [] {
    std::map<std::string_view, std::string> all;
    for (const Definition& d : definitions()) all[d.name] = d.value;
    return all;
  }();
  return kBuiltIn.at(definition.name);
}

Result<std::string> Variables::get(std::string_view name) const {
  const Definition* definition = find(name);
  if (definition == nullptr) {
    return fail(sqlstate::kUndefinedObject,
                "unrecognized configuration parameter \"" + std::string(name) + "\"");
  }
  return value(*definition);
}

std::vector<Variables::Shown> Variables::all() const {
  std::vector<Shown> shown;
  for (const Definition& d : definitions()) shown.push_back({d.name, value(d), d.description});
  return shown;
}

Result<void> Variables::set(std::string_view name,
                            const std::optional<std::vector<std::string>>& values, bool local) {
  const Definition* definition = find(name);
  if (definition == nullptr) {
    return fail(sqlstate::kUndefinedObject,
                "unrecognized configuration parameter \"" + std::string(name) + "\"");
  }
  if (!values) return assign(*definition, std::nullopt, local);
  std::string joined;
  for (const std::string& v : *values) joined.append(joined.empty() ? "" : ", ").append(v);
  if (definition->fixed && joined != value(*definition)) {
    return fail(kCannotChange, "parameter \"" + std::string(name) + "\" cannot be changed");
  }
  auto checked = definition->check(std::move(joined));
  if (!checked) {
    Error error = checked.error();
    if (error.message.starts_with("parameter requires")) {
      error.message = "parameter \"" + std::string(name) + "\" requires a Boolean value";
    } else if (error.message.starts_with("invalid value: ")) {
      error.message = "invalid value for parameter \"" + std::string(name) + "\": " +
                      error.message.substr(std::string_view("invalid value: ").size());
    }
    return fail(std::move(error));
  }
  return assign(*definition, std::move(*checked), local);
}

Result<void> Variables::assign(const Definition& definition, std::optional<std::string> to,
                               bool local) {
  const std::string name(definition.name);
  if (in_transaction_ && !at_begin_) at_begin_ = values_;
  auto old = values_.find(name);
  if (local && in_transaction_ && !undo_local_.contains(name)) {
    undo_local_[name] = old == values_.end() ? std::nullopt : std::optional(old->second);
  }
  if (to) {
    values_[name] = std::move(*to);
  } else {
    values_.erase(name);
  }
  if (definition.reported) changed_.push_back(name);
  changed();
  return {};
}

// Also what every statement asks for is kept ready.
void Variables::changed() {
  ++version_;
  const std::uint64_t ms = std::stoull(*get("statement_timeout"));
  statement_timeout_ms_ = ms == 0 ? std::nullopt : std::optional(ms);
  if (!in_transaction_) {
    const bool asked = values_.contains("default_transaction_isolation") ||
                       defaults_.contains("default_transaction_isolation");
    begun_isolation_ = asked ? *get("default_transaction_isolation") : "serializable";
    begun_read_only_ = *get("default_transaction_read_only");
  }
  read_only_ = *get("transaction_read_only") == "on";
  max_result_bytes_ = bytes_of(*get("max_result_size")).value();
}

Result<void> Variables::set_default(std::string_view name, std::string to) {
  const Definition* definition = find(name);
  if (definition == nullptr) return {};  // clients send parameters of other servers
  auto checked = definition->check(std::move(to));
  if (!checked) return base::Unexpected(checked.error());
  if (!definition->fixed) defaults_[std::string(definition->name)] = std::move(*checked);
  changed();
  return {};
}

void Variables::reset_all() {
  if (in_transaction_ && !at_begin_) at_begin_ = values_;
  const Values before = std::exchange(values_, {});
  for (const char* kept : {"transaction_isolation", "transaction_read_only"}) {
    if (auto it = before.find(kept); it != before.end()) values_.insert(*it);
  }
  report_changes(before);
  changed();
}

void Variables::report_changes(const Values& before) {
  for (const auto& [name, v] : before) changed_.push_back(name);
  for (const auto& [name, v] : values_) changed_.push_back(name);
}

Variables::Saved Variables::save() const { return {.values = values_, .undo_local = undo_local_}; }

void Variables::restore(const Saved& saved) {
  if (!at_begin_) return;  // nothing has changed
  const Values before = std::exchange(values_, saved.values);
  undo_local_ = saved.undo_local;
  report_changes(before);
  changed();
}

void Variables::begin_transaction() { in_transaction_ = true; }

void Variables::end_transaction(bool committed) {
  in_transaction_ = false;
  if (!at_begin_) return;
  if (!committed) {
    for (const auto& [name, v] : values_) changed_.push_back(name);
    values_ = std::move(*at_begin_);
  } else {
    for (const auto& [name, v] : undo_local_) {
      changed_.push_back(name);
      if (v) {
        values_[name] = *v;
      } else {
        values_.erase(name);
      }
    }
  }
  values_.erase("transaction_isolation");
  values_.erase("transaction_read_only");
  undo_local_.clear();
  at_begin_.reset();
  changed();
}

std::vector<std::pair<std::string, std::string>> Variables::take_reports() {
  std::vector<std::pair<std::string, std::string>> reports;
  std::ranges::sort(changed_);
  const auto repeated = std::ranges::unique(changed_);
  changed_.erase(repeated.begin(), repeated.end());
  for (const std::string& name : std::exchange(changed_, {})) {
    const Definition* definition = find(name);
    if (definition != nullptr && definition->reported) reports.emplace_back(name, value(*definition));
  }
  for (auto& [name, v] : reports) {
    if (name == "datestyle") name = "DateStyle";
    if (name == "timezone") name = "TimeZone";
    if (name == "intervalstyle") name = "IntervalStyle";
  }
  return reports;
}

std::vector<std::pair<std::string, std::string>> Variables::reported() const {
  Variables copy = *this;
  copy.changed_.clear();
  for (const Definition& d : definitions()) {
    if (d.reported) copy.changed_.emplace_back(d.name);
  }
  return copy.take_reports();
}

sql::SessionSettings Variables::settings(const std::string& user) const {
  sql::SessionSettings settings;
  settings.user = user;
  settings.database = *get("database");
  settings.time_zone = *get("timezone");
  settings.search_path.clear();
  std::string entry;
  auto flush = [&] {
    const auto first = entry.find_first_not_of(" \t");
    if (first != std::string::npos) {
      std::string name = entry.substr(first, entry.find_last_not_of(" \t") - first + 1);
      if (name.size() >= 2 && name.front() == '"' && name.back() == '"') {
        name = name.substr(1, name.size() - 2);
      }
      if (name == "$user") name = user;
      settings.search_path.push_back(std::move(name));
    }
    entry.clear();
  };
  const std::string path = *get("search_path");
  for (const char c : path) {
    if (c == ',') {
      flush();
    } else {
      entry.push_back(c);
    }
  }
  flush();
  return settings;
}

}  // namespace freshet::adapter
