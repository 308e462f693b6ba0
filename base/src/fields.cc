// SPDX-License-Identifier: Apache-2.0
#include <freshet/base/fields.h>

#include <freshet/base/sqlstate.h>

namespace freshet::base {
namespace {

Unexpected damaged(std::string what) {
  return fail(Error{.code = ErrorCode::kCorrupt,
                    .sqlstate = sqlstate::kDataCorrupted,
                    .message = "stored fields are damaged: " + std::move(what)});
}

}  // namespace

Result<std::uint64_t> Field::integer() const {
  ByteReader in(payload);
  const std::uint64_t value = in.varint();
  if (!in.ok() || !in.at_end()) return damaged("no number in field " + std::to_string(number));
  return value;
}

Unexpected Field::unknown(std::uint64_t value) const {
  return damaged("unknown value " + std::to_string(value) + " of field " + std::to_string(number));
}

Result<std::optional<Field>> FieldReader::next() {
  if (in_.at_end() && in_.ok()) return std::optional<Field>();
  Field field{in_.varint(), {}};
  field.payload = in_.bytes();
  if (!in_.ok()) return damaged("a field is cut off");
  return std::optional<Field>(field);
}

}  // namespace freshet::base
