// SPDX-License-Identifier: Apache-2.0
/// Quoting as quote_ident and quote_literal do it.
#pragma once

#include <string>
#include <string_view>

namespace freshet::expr {

void append_quoted_identifier(std::string& out, std::string_view name);
void append_quoted_literal(std::string& out, std::string_view text);

}  // namespace freshet::expr
