// SPDX-License-Identifier: Apache-2.0
// Random SQL values for property tests: small domains, so that equal values in different forms are
// common, mixed with the extremes.
#pragma once

#include <vector>

#include <freshet/repr/datum.h>
#include <testing/random.h>

namespace freshet::repr {

/// Every kind that a column can have, and arrays of some.
std::vector<SqlType> storable_types();
Datum random_datum(testing::Random& random, const SqlType& type, bool nullable = true);
Numeric random_numeric(testing::Random& random);
std::string describe(const Datum& datum, const SqlType& type);

}  // namespace freshet::repr
