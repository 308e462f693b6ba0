// SPDX-License-Identifier: Apache-2.0
/// Simplification of scalars: same value, same NULLs, and same errors for every row (an error may change into
/// a lesser one of the same row, never appear or vanish).
#pragma once

#include "passes.h"

namespace freshet::sql::passes {

Scalar simplify_scalar(const Scalar& scalar, Folding& folding);

}  // namespace freshet::sql::passes
