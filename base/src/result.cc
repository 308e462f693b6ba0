// SPDX-License-Identifier: Apache-2.0
#include <freshet/base/result.h>

namespace freshet::base {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid: return "invalid";
    case ErrorCode::kNotFound: return "not found";
    case ErrorCode::kConflict: return "conflict";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kIndeterminate: return "indeterminate";
    case ErrorCode::kCorrupt: return "corrupt";
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kFenced: return "fenced";
    case ErrorCode::kExhausted: return "exhausted";
  }
  FRESHET_UNREACHABLE(static_cast<int>(code));
}

SqlState SqlState::from(std::string_view text) {
  SqlState state;
  if (text.size() != state.chars_.size()) return state;
  for (std::size_t i = 0; i < text.size(); ++i) state.chars_[i] = text[i];
  return state;
}

std::ostream& operator<<(std::ostream& out, const Error& error) {
  return out << to_string(error.code) << " (" << error.sqlstate.view() << "): " << error.message;
}

Error sql_error(SqlState state, std::string message) {
  return {.code = ErrorCode::kInvalid, .sqlstate = state, .message = std::move(message)};
}

}  // namespace freshet::base
