// SPDX-License-Identifier: Apache-2.0
/// Random values and expressions over given columns.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <freshet/expr/scalar.h>
#include <testing/random.h>

namespace testing {

using freshet::expr::Scalar;
using freshet::repr::ColumnType;
using freshet::repr::SqlType;
using freshet::repr::TypeKind;

/// The kinds that columns of collections have.
TypeKind random_kind(Random& random);
/// From a small domain of the kind; never NULL.
freshet::repr::Datum random_value(Random& random, TypeKind kind);

class ScalarGenerator {
 public:
  ScalarGenerator(Random& random, std::span<const ColumnType> columns, bool may_fail)
      : random_(random), columns_(columns), may_fail_(may_fail) {}
  /// Of one of the kinds above.
  Scalar of_kind(TypeKind kind, std::size_t depth);
  Scalar predicate(std::size_t depth);
  /// Of a random kind.
  Scalar any(std::size_t depth);
  std::optional<Scalar> column_of(TypeKind kind);
  Scalar literal(TypeKind kind);

 private:
  Scalar call(std::string_view signature, std::vector<Scalar> arguments);
  Scalar integer(TypeKind kind, std::size_t depth);
  Scalar numeric(std::size_t depth);
  Scalar text(std::size_t depth);
  Scalar comparison(std::size_t depth);

  Random& random_;
  std::span<const ColumnType> columns_;
  bool may_fail_;
};

}  // namespace testing
