// SPDX-License-Identifier: Apache-2.0
/// The first packet of a connection, which has no type: what the client wants of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <freshet/adapter/session.h>
#include <freshet/base/result.h>

namespace freshet::adapter {

/// SSL or GSS first: answered N, and another packet follows.
struct EncryptionRequest {};
struct CancelRequest {
  std::uint32_t process = 0;
  std::uint32_t secret = 0;
};
struct SessionRequest {
  SessionStartup startup;
  /// It asked for a minor version or options of the protocol that are not there: it is told which.
  bool negotiates = false;
  std::vector<std::string> unknown_options{};
};
using StartupRequest = std::variant<EncryptionRequest, CancelRequest, SessionRequest>;

inline constexpr std::int32_t kProtocol3 = 3 << 16;

/// The size of the packet that `bytes` begins with, its length included; nothing while too little is here. 08P01.
Result<std::optional<std::size_t>> startup_size(std::string_view bytes);
/// Reads a whole packet. 08P01, 0A000 another protocol, 28000 no user.
Result<StartupRequest> read_startup(std::string_view packet);

}  // namespace freshet::adapter
