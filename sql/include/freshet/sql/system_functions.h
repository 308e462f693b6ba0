// SPDX-License-Identifier: Apache-2.0
/// The functions as pg_proc lists them: those of expr's table, and the input and output functions of the types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/repr/types.h>

namespace freshet::sql {

struct SystemFunction {
  std::uint32_t oid = 0;  ///< PostgreSQL's for input and output functions, else our own; fixed within a version.
  std::string_view name;
  std::vector<std::uint32_t> arguments{};
  std::uint32_t result = 0;
  bool strict = false;
  bool variadic = false;
  bool returns_set = false;
  bool aggregate = false;
  std::string argument_text{};  ///< "integer, text", as pg_get_function_arguments shows it.
  std::string result_text{};    ///< "SETOF integer"
};

/// In order of the OIDs that are our own. Made once; the reference lives as long as the process.
const std::vector<SystemFunction>& system_functions();

/// The OIDs of the functions that read and print a type.
struct TypeFunctions {
  repr::TypeKind kind;
  std::string_view stem;  ///< "int4" of int4in, int4out, int4recv, int4send; "date_" of date_in, …
  std::uint32_t input;
  std::uint32_t output;
  std::uint32_t receive;
  std::uint32_t send;
};
/// Of every type that has them; those of kArray are array_in and its like.
const std::vector<TypeFunctions>& type_functions();

}  // namespace freshet::sql
