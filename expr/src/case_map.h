// SPDX-License-Identifier: Apache-2.0
/// Upper and lower case of single characters, as the collation C.UTF-8 maps them.
#pragma once

#include <string>
#include <string_view>

namespace freshet::expr {

void append_lower(std::string& out, std::string_view text);
void append_upper(std::string& out, std::string_view text);
/// The first letter of each word upper, the rest lower; words are runs of letters and digits.
void append_initcap(std::string& out, std::string_view text);

}  // namespace freshet::expr
