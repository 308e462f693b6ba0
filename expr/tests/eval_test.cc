// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/aggregate.h>

#include <catch2/catch.hpp>
