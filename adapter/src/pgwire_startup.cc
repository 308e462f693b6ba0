// SPDX-License-Identifier: Apache-2.0
#include "pgwire_startup.h"

#include <utility>

#include <freshet/base/sqlstate.h>

#include "pgwire_messages.h"

namespace freshet::adapter {
namespace {

constexpr std::int32_t kCancelCode = (1234 << 16) | 5678;
constexpr std::int32_t kSslCode = (1234 << 16) | 5679;
constexpr std::int32_t kGssCode = (1234 << 16) | 5680;
constexpr SqlState kInvalidAuthorization = "28000";
constexpr std::size_t kMostBytes = 10'000;

// "-c name=value -c name=value", backslash escapes blanks.
void split_options(std::string_view text, std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      words.back().push_back(text[++i]);
    } else if (text[i] == ' ') {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back().push_back(text[i]);
    }
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    if (word == "-c" && i + 1 < words.size()) {
      word = words[++i];
    } else if (word.starts_with("--")) {
      word = word.substr(2);
    } else if (word.starts_with("-c")) {
      word = word.substr(2);
    }
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) variables.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
}

Result<StartupRequest> read_session(std::int32_t protocol, MessageReader& in) {
  SessionRequest request;
  request.startup.user.clear();
  request.startup.database.clear();
  while (in.ok() && !in.rest().empty() && in.rest()[0] != '\0') {
    std::string name(in.text());
    std::string value(in.text());
    if (name == "user") {
      request.startup.user = std::move(value);
    } else if (name == "database") {
      request.startup.database = std::move(value);
    } else if (name.starts_with("_pq_.")) {
      request.unknown_options.push_back(std::move(name));
    } else if (name == "options") {
      split_options(value, request.startup.variables);
    } else {
      request.startup.variables.emplace_back(std::move(name), std::move(value));
    }
  }
  if (!in.ok()) return fail(MessageReader::malformed());
  if (request.startup.user.empty()) {
    return fail(kInvalidAuthorization, "no PostgreSQL user name specified in startup packet");
  }
  request.negotiates = protocol != kProtocol3 || !request.unknown_options.empty();
  return StartupRequest(std::move(request));
}

}  // namespace

Result<std::optional<std::size_t>> startup_size(std::string_view bytes) {
  MessageReader header(bytes);
  const std::int32_t length = header.int32();
  if (!header.ok()) return std::optional<std::size_t>();
  if (length < 8 || static_cast<std::size_t>(length) > kMostBytes) {
    return fail(sqlstate::kProtocolViolation, "invalid length of startup packet");
  }
  const auto whole = static_cast<std::size_t>(length);
  return bytes.size() < whole ? std::optional<std::size_t>() : std::optional(whole);
}

Result<StartupRequest> read_startup(std::string_view packet) {
  MessageReader in(packet.substr(4));
  const std::int32_t code = in.int32();
  if (code == kSslCode || code == kGssCode) return StartupRequest(EncryptionRequest{});
  if (code == kCancelCode) {
    const auto process = static_cast<std::uint32_t>(in.int32());
    const auto secret = static_cast<std::uint32_t>(in.int32());
    return StartupRequest(in.ok() ? CancelRequest{process, secret} : CancelRequest{});  // no process is 0
  }
  if ((code >> 16) != 3) {
    return fail(sqlstate::kFeatureNotSupported, "unsupported frontend protocol " + std::to_string(code >> 16) + "." +
                                                    std::to_string(code & 0xffff) + ": server supports 3.0 to 3.0");
  }
  return read_session(code, in);
}

}  // namespace freshet::adapter
