// SPDX-License-Identifier: Apache-2.0
#include <freshet/repr/type_codec.h>

#include <algorithm>

namespace freshet::repr {

using base::ByteReader;
using base::ByteWriter;

std::optional<TypeKind> type_kind_from(std::uint64_t number) {
  const std::vector<TypeKind>& kinds = all_type_kinds();
  const auto known = std::ranges::find(kinds, number, [](TypeKind kind) { return static_cast<std::uint64_t>(kind); });
  if (known == kinds.end()) return std::nullopt;
  return *known;
}

void write_type(ByteWriter& out, const SqlType& type) {
  out.u8(static_cast<std::uint8_t>(type.kind()));
  out.svarint(type.typmod());
  if (type.kind() == TypeKind::kArray) write_type(out, type.element());
}

SqlType read_type(ByteReader& in) {
  const auto plain = [&in] {
    const std::optional<TypeKind> kind = type_kind_from(in.u8());
    if (!kind) in.bad();
    return SqlType(kind.value_or(TypeKind::kBool), static_cast<std::int32_t>(in.svarint()));
  };
  SqlType type = plain();
  if (type.kind() != TypeKind::kArray) return type;
  SqlType element = plain();
  if (element.kind() == TypeKind::kArray) in.bad();  // an array of arrays is no type
  return in.ok() ? SqlType::array_of(std::move(element)) : SqlType(TypeKind::kBool);
}

void write_column_type(ByteWriter& out, const ColumnType& column) {
  write_type(out, column.type);
  out.boolean(column.nullable);
}

ColumnType read_column_type(ByteReader& in) {
  SqlType type = read_type(in);
  return {std::move(type), in.boolean()};
}

void write_keys(ByteWriter& out, const RelationType& type) {
  out.varint(type.keys.size());
  for (const std::vector<std::size_t>& key : type.keys) {
    out.varint(key.size());
    for (const std::size_t column : key) out.varint(column);
  }
}

void read_keys(ByteReader& in, RelationType& type) {
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    std::vector<std::size_t>& key = type.keys.emplace_back();
    for (std::uint64_t columns = in.varint(); columns > 0 && in.ok(); --columns) {
      key.push_back(in.varint());
      if (key.back() >= type.arity()) in.bad();
    }
  }
}

void write_desc(ByteWriter& out, const RelationDesc& desc) {
  out.varint(desc.arity());
  for (std::size_t i = 0; i < desc.arity(); ++i) {
    out.bytes(desc.names[i]);
    write_column_type(out, desc.type.columns[i]);
  }
  write_keys(out, desc.type);
}

RelationDesc read_desc(ByteReader& in) {
  RelationDesc desc;
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    desc.names.emplace_back(in.bytes());
    desc.type.columns.push_back(read_column_type(in));
  }
  read_keys(in, desc.type);
  return desc;
}

}  // namespace freshet::repr
