// SPDX-License-Identifier: Apache-2.0
/// SQL types as bytes, in plans on the wire and in the stored catalog: never change what is written here, only add.
///
/// Readers turn bad on a kind that this version does not know; what they return then is a type, but no matter which.
#pragma once

#include <optional>

#include <freshet/base/bytes.h>
#include <freshet/repr/types.h>

namespace freshet::repr {

/// The kind with that number, if there is one.
std::optional<TypeKind> type_kind_from(std::uint64_t number);

void write_type(base::ByteWriter& out, const SqlType& type);
SqlType read_type(base::ByteReader& in);

void write_column_type(base::ByteWriter& out, const ColumnType& column);
ColumnType read_column_type(base::ByteReader& in);

/// Sets of column positions: bad if one is not below `arity`.
void write_keys(base::ByteWriter& out, const RelationType& type);
void read_keys(base::ByteReader& in, RelationType& type);

void write_desc(base::ByteWriter& out, const RelationDesc& desc);
RelationDesc read_desc(base::ByteReader& in);

}  // namespace freshet::repr
