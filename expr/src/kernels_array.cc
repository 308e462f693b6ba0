// SPDX-License-Identifier: Apache-2.0
/// Functions and operators on arrays.
#include <algorithm>
#include <string>

#include <freshet/base/sqlstate.h>

#include "array_kernels.h"

namespace freshet::expr {
namespace {

using repr::Datum;
using I4 = std::int32_t;

// --- Making arrays ----------------------------------------------------------------------------------------

base::Unexpected different_dimensions() {
  return fail(sqlstate::kArraySubscriptError,
              "multidimensional arrays must have array expressions with matching dimensions");
}

// ARRAY[a, b, …]; of arrays: one dimension more.
Result<Datum> construct(const KernelCall& call, std::size_t row) {
  const std::size_t count = call.arguments.size();
  if (count == 0 || call.types[0].kind() != K::kArray) {
    std::vector<Datum> elements;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      elements.push_back(datum_at(call, i, row));
      bytes += weight(elements.back());
      if (bytes > kMostValueBytes) return too_large();
    }
    return array_datum(one_dimension(std::move(elements)));
  }
  ArrayValue out;
  bool any = false;
  bool any_empty = false;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Datum datum = datum_at(call, i, row);
    if (datum.is_null() || datum.get<std::shared_ptr<const ArrayValue>>()->dimensions.empty()) {
      any_empty = true;
      continue;
    }
    bytes += weight(datum);
    if (bytes > kMostValueBytes) return too_large();
    const ArrayValue& array = *datum.get<std::shared_ptr<const ArrayValue>>();
    if (!any) {
      if (array.dimensions.size() == kMostDimensions) return too_many_dimensions(kMostDimensions + 1);
      out.dimensions.push_back({1, static_cast<I4>(count)});
      out.dimensions.insert(out.dimensions.end(), array.dimensions.begin(), array.dimensions.end());
      any = true;
    } else if (!std::equal(array.dimensions.begin(), array.dimensions.end(), out.dimensions.begin() + 1,
                           out.dimensions.end())) {
      return different_dimensions();
    }
    out.elements.insert(out.elements.end(), array.elements.begin(), array.elements.end());
  }
  if (any && any_empty) return different_dimensions();
  return array_datum(std::move(out));
}

base::Unexpected incompatible(const char* detail) {
  Error error = sql_error(sqlstate::kArraySubscriptError, "cannot concatenate incompatible arrays");
  error.detail = detail;
  return fail(std::move(error));
}

bool same_shape(std::span<const ArrayValue::Dimension> a, std::span<const ArrayValue::Dimension> b) {
  return std::ranges::equal(a, b);
}

Result<ArrayValue> concatenate(const ArrayValue& a, const ArrayValue& b) {
  if (a.dimensions.empty()) return b;
  if (b.dimensions.empty()) return a;
  ArrayValue out;
  const std::size_t m = a.dimensions.size();
  const std::size_t n = b.dimensions.size();
  const std::span<const ArrayValue::Dimension> x(a.dimensions);
  const std::span<const ArrayValue::Dimension> y(b.dimensions);
  if (m == n) {
    if (!same_shape(x.subspan(1), y.subspan(1))) {
      return incompatible("Arrays with differing element dimensions are not compatible for concatenation.");
    }
    out.dimensions = a.dimensions;
    out.dimensions[0].length += b.dimensions[0].length;
  } else if (m + 1 == n || n + 1 == m) {
    const bool left = n > m;  // a is an element of b
    const auto outer = left ? y : x;
    const auto inner = left ? x : y;
    if (!same_shape(outer.subspan(1), inner)) {
      return incompatible("Arrays with differing dimensions are not compatible for concatenation.");
    }
    out.dimensions.assign(outer.begin(), outer.end());
    ++out.dimensions[0].length;
  } else {
    Error error = sql_error(sqlstate::kArraySubscriptError, "cannot concatenate incompatible arrays");
    error.detail = "Arrays of " + std::to_string(m) + " and " + std::to_string(n) +
                   " dimensions are not compatible for concatenation.";
    return fail(std::move(error));
  }
  out.elements = a.elements;
  out.elements.insert(out.elements.end(), b.elements.begin(), b.elements.end());
  return out;
}

ArrayValue array_or_empty(const Datum& datum) {
  return datum.is_null() ? ArrayValue{} : *datum.get<std::shared_ptr<const ArrayValue>>();
}

Result<Datum> append(const Datum& array_value, const Datum& element, bool back) {
  if (weight(array_value) + weight(element) > kMostValueBytes) return too_large();
  ArrayValue out = array_or_empty(array_value);
  if (out.dimensions.size() > 1) {
    return fail(sqlstate::kDataException, "argument must be empty or one-dimensional array");
  }
  if (out.dimensions.empty()) {
    out.dimensions.push_back({1, 0});
  } else if (!back) {
    // Prepending keeps the lower bound.
  }
  ++out.dimensions[0].length;
  out.elements.insert(back ? out.elements.end() : out.elements.begin(), element);
  return array_datum(std::move(out));
}

void not_strict(FunctionSpec& spec, bool not_null = false) {
  spec.strict = false;
  spec.preserves_not_null = not_null;
}

void add_constructors(FunctionTable& table) {
  FunctionSpec& make = table.add(
      "array", {A::kAnyElement}, A::kAnyArray, whole([](KernelCall& call) {
        return each_row(call, false, [&](std::size_t row) { return construct(call, row); });
      }, {.can_fail = true}));
  make.variadic = true;
  not_strict(make, true);
  const auto back = whole([](KernelCall& call) {
    return each_row(call, false, [&](std::size_t row) {
      return append(datum_at(call, 0, row), datum_at(call, 1, row), true);
    });
  }, {.can_fail = true});
  const auto front = whole([](KernelCall& call) {
    return each_row(call, false, [&](std::size_t row) {
      return append(datum_at(call, 1, row), datum_at(call, 0, row), false);
    });
  }, {.can_fail = true});
  const auto both = whole([](KernelCall& call) {
    return each_row(call, false, [&](std::size_t row) -> Result<Datum> {
      const Datum a = datum_at(call, 0, row);
      const Datum b = datum_at(call, 1, row);
      if (a.is_null()) return b;
      if (b.is_null()) return a;
      if (weight(a) + weight(b) > kMostValueBytes) return too_large();
      ArrayValue out = FRESHET_TRY(concatenate(array_or_empty(a), array_or_empty(b)));
      return array_datum(std::move(out));
    });
  }, {.can_fail = true});
  not_strict(table.add("array_append", {A::kAnyArray, A::kAnyElement}, A::kAnyArray, back), true);
  not_strict(table.add("array_prepend", {A::kAnyElement, A::kAnyArray}, A::kAnyArray, front), true);
  not_strict(table.add("array_cat", {A::kAnyArray, A::kAnyArray}, A::kAnyArray, both));
  not_strict(table.add_operator("||", {A::kAnyArray, A::kAnyArray}, A::kAnyArray, both));
  not_strict(table.add_operator("||", {A::kAnyArray, A::kAnyElement}, A::kAnyArray, back), true);
  not_strict(table.add_operator("||", {A::kAnyElement, A::kAnyArray}, A::kAnyArray, front), true);
}

// --- Shape and subscripts -----------------------------------------------------------------------------------

Datum int_or_null(std::optional<I4> value) { return value.has_value() ? Datum(*value) : Datum(); }

std::optional<ArrayValue::Dimension> dimension(const ArrayValue& array, I4 number) {
  if (number < 1 || static_cast<std::size_t>(number) > array.dimensions.size()) return std::nullopt;
  return array.dimensions[static_cast<std::size_t>(number) - 1];
}

Datum subscript(const KernelCall& call, const ArrayValue& array, std::size_t row) {
  const std::size_t count = call.arguments.size() - 1;
  if (array.dimensions.size() != count) return {};
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& d = array.dimensions[i];
    const I4 index = datum_at(call, i + 1, row).get<I4>();
    if (index < d.lower || index - d.lower >= d.length) return {};
    at = at * static_cast<std::size_t>(d.length) + static_cast<std::size_t>(index - d.lower);
  }
  return array.elements[at];
}

// One-dimensional slices [lower:upper].
Datum slice(const ArrayValue& array, I4 lower, I4 upper) {
  ArrayValue out;
  if (array.dimensions.empty()) return array_datum(std::move(out));
  std::size_t width = 1;
  for (std::size_t i = 1; i < array.dimensions.size(); ++i) {
    width *= static_cast<std::size_t>(array.dimensions[i].length);
  }
  const auto& first = array.dimensions[0];
  const std::int64_t from = std::max<std::int64_t>(lower, first.lower);
  const std::int64_t to = std::min<std::int64_t>(upper, std::int64_t{first.lower} + first.length - 1);
  if (from > to) return array_datum(std::move(out));
  out.dimensions = array.dimensions;
  for (auto& d : out.dimensions) d.lower = 1;
  out.dimensions[0].length = static_cast<I4>(to - from + 1);
  const auto begin = array.elements.begin() +
                     static_cast<std::ptrdiff_t>(static_cast<std::size_t>(from - first.lower) * width);
  out.elements.assign(begin, begin + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(to - from + 1) * width));
  return array_datum(std::move(out));
}

template <typename F>
Lifted of_array(F, bool may_be_null) {
  return whole([](KernelCall& call) {
    ArrayReader arrays(call, 0);
    return each_row(call, true, [&](std::size_t row) -> Result<Datum> {
      return F{}(call, arrays[row], row);
    });
  }, {.may_be_null = may_be_null});
}

void add_shapes(FunctionTable& table) {
  using Call = KernelCall;
  table.add("array_length", {A::kAnyArray, K::kInt4}, K::kInt4,
            of_array([](const Call& call, const ArrayValue& array, std::size_t row) {
              const auto d = dimension(array, datum_at(call, 1, row).get<I4>());
              return int_or_null(d.has_value() ? std::optional(d->length) : std::nullopt);
            }, true));
  table.add("array_lower", {A::kAnyArray, K::kInt4}, K::kInt4,
            of_array([](const Call& call, const ArrayValue& array, std::size_t row) {
              const auto d = dimension(array, datum_at(call, 1, row).get<I4>());
              return int_or_null(d.has_value() ? std::optional(d->lower) : std::nullopt);
            }, true));
  table.add("array_upper", {A::kAnyArray, K::kInt4}, K::kInt4,
            of_array([](const Call& call, const ArrayValue& array, std::size_t row) {
              const auto d = dimension(array, datum_at(call, 1, row).get<I4>());
              return int_or_null(d.has_value() ? std::optional(d->lower + d->length - 1) : std::nullopt);
            }, true));
  table.add("array_ndims", {A::kAnyArray}, K::kInt4,
            of_array([](const Call&, const ArrayValue& array, std::size_t) {
              return array.dimensions.empty() ? Datum() : Datum(static_cast<I4>(array.dimensions.size()));
            }, true));
  table.add("array_dims", {A::kAnyArray}, K::kText,
            of_array([](const Call&, const ArrayValue& array, std::size_t) {
              if (array.dimensions.empty()) return Datum();
              std::string out;
              for (const auto& d : array.dimensions) {
                out += '[' + std::to_string(d.lower) + ':' + std::to_string(d.lower + d.length - 1) + ']';
              }
              return Datum(std::move(out));
            }, true));
  table.add("cardinality", {A::kAnyArray}, K::kInt4,
            of_array([](const Call&, const ArrayValue& array, std::size_t) {
              return Datum(static_cast<I4>(array.elements.size()));
            }, false));
  FunctionSpec& at = table.add("array_subscript", {A::kAnyArray, K::kInt4}, A::kAnyElement,
                               of_array([](const Call& call, const ArrayValue& array, std::size_t row) {
                                 return subscript(call, array, row);
                               }, true));
  at.variadic = true;
  table.add("array_slice", {A::kAnyArray, K::kInt4, K::kInt4}, A::kAnyArray,
            of_array([](const Call& call, const ArrayValue& array, std::size_t row) {
              return slice(array, datum_at(call, 1, row).get<I4>(), datum_at(call, 2, row).get<I4>());
            }, false));
}

// --- Containment and search ----------------------------------------------------------------------------------

bool equal(const Datum& a, const Datum& b, const repr::SqlType& element) {
  return repr::compare(a, b, element) == 0;
}
bool has(const ArrayValue& array, const Datum& value, const repr::SqlType& element) {
  return std::ranges::any_of(array.elements, [&](const Datum& e) {
    return !e.is_null() && equal(e, value, element);
  });
}
// Are all elements of `small` in `large`? A NULL is in no array.
bool contains(const ArrayValue& large, const ArrayValue& small, const repr::SqlType& element) {
  return std::ranges::all_of(small.elements, [&](const Datum& e) {
    return !e.is_null() && has(large, e, element);
  });
}
bool overlap(const ArrayValue& a, const ArrayValue& b, const repr::SqlType& element) {
  return std::ranges::any_of(a.elements, [&](const Datum& e) {
    return !e.is_null() && has(b, e, element);
  });
}

template <typename F>
Lifted of_two(F) {
  return whole([](KernelCall& call) {
    ArrayReader a(call, 0);
    ArrayReader b(call, 1);
    return each_row(call, true, [&](std::size_t row) -> Result<Datum> {
      return Datum(F{}(a[row], b[row], call.types[0].element()));
    });
  });
}

Result<Datum> position(const KernelCall& call, std::size_t row, I4 from) {
  const Datum array_value = datum_at(call, 0, row);
  if (array_value.is_null()) return Datum();
  const ArrayValue& array = *array_value.get<std::shared_ptr<const ArrayValue>>();
  if (array.dimensions.size() > 1) {
    return fail(sqlstate::kFeatureNotSupported,
                "searching for elements in multidimensional arrays is not supported");
  }
  const Datum value = datum_at(call, 1, row);
  for (std::size_t i = 0; i < array.elements.size(); ++i) {
    const I4 index = array.dimensions[0].lower + static_cast<I4>(i);
    if (index < from) continue;
    const Datum& e = array.elements[i];
    const bool match = e.is_null() || value.is_null() ? e.is_null() && value.is_null()
                                                      : equal(e, value, call.types[0].element());
    if (match) return Datum(index);
  }
  return Datum();
}

bool same(const Datum& a, const Datum& b, const repr::SqlType& type) {
  if (a.is_null() || b.is_null()) return a.is_null() && b.is_null();
  return equal(a, b, type);
}

void add_searches(FunctionTable& table) {
  using Type = repr::SqlType;
  table.add_operator("@>", {A::kAnyArray, A::kAnyArray}, K::kBool,
                     of_two([](const ArrayValue& a, const ArrayValue& b, const Type& e) { return contains(a, b, e); }));
  table.add_operator("<@", {A::kAnyArray, A::kAnyArray}, K::kBool,
                     of_two([](const ArrayValue& a, const ArrayValue& b, const Type& e) { return contains(b, a, e); }));
  table.add_operator("&&", {A::kAnyArray, A::kAnyArray}, K::kBool,
                     of_two([](const ArrayValue& a, const ArrayValue& b, const Type& e) { return overlap(a, b, e); }));
  not_strict(table.add("array_position", {A::kAnyArray, A::kAnyElement}, K::kInt4, whole([](KernelCall& call) {
    return each_row(call, false, [&](std::size_t row) { return position(call, row, INT32_MIN); });
  }, {.can_fail = true})));
  not_strict(table.add("array_position", {A::kAnyArray, A::kAnyElement, K::kInt4}, K::kInt4, whole([](KernelCall& call) {
    return each_row(call, false, [&](std::size_t row) -> Result<Datum> {
      const Datum from = datum_at(call, 2, row);
      if (from.is_null()) return fail("22004", "initial position must not be null");
      return position(call, row, from.get<I4>());
    });
  }, {.can_fail = true})));
  not_strict(table.add("array_positions", {A::kAnyArray, A::kAnyElement}, array(K::kInt4), whole([](KernelCall& call) {
    return each_row(call, false, [&](std::size_t row) -> Result<Datum> {
      const Datum from = datum_at(call, 0, row);
      if (from.is_null()) return Datum();
      const ArrayValue& in = *from.get<std::shared_ptr<const ArrayValue>>();
      if (in.dimensions.size() > 1) {
        return fail(sqlstate::kFeatureNotSupported,
                    "searching for elements in multidimensional arrays is not supported");
      }
      const Datum value = datum_at(call, 1, row);
      std::vector<Datum> out;
      for (std::size_t i = 0; i < in.elements.size(); ++i) {
        if (same(in.elements[i], value, call.types[0].element())) {
          out.emplace_back(in.dimensions[0].lower + static_cast<I4>(i));
        }
      }
      return array_datum(one_dimension(std::move(out)));
    });
  }, {.can_fail = true})));
  not_strict(table.add("array_remove", {A::kAnyArray, A::kAnyElement}, A::kAnyArray, whole([](KernelCall& call) {
    return each_row(call, false, [&](std::size_t row) -> Result<Datum> {
      const Datum from = datum_at(call, 0, row);
      if (from.is_null()) return Datum();
      const ArrayValue& in = *from.get<std::shared_ptr<const ArrayValue>>();
      if (in.dimensions.size() > 1) {
        return fail(sqlstate::kFeatureNotSupported,
                    "removing elements from multidimensional arrays is not supported");
      }
      const Datum value = datum_at(call, 1, row);
      ArrayValue out = in;
      std::erase_if(out.elements, [&](const Datum& e) { return same(e, value, call.types[0].element()); });
      if (out.elements.size() == in.elements.size()) return from;
      if (out.elements.empty()) {
        out.dimensions.clear();
      } else {
        out.dimensions[0].length = static_cast<I4>(out.elements.size());
      }
      return array_datum(std::move(out));
    });
  }, {.can_fail = true})));
  not_strict(table.add("array_replace", {A::kAnyArray, A::kAnyElement, A::kAnyElement}, A::kAnyArray, whole([](KernelCall& call) {
    return each_row(call, false, [&](std::size_t row) -> Result<Datum> {
      const Datum from = datum_at(call, 0, row);
      if (from.is_null()) return Datum();
      ArrayValue out = *from.get<std::shared_ptr<const ArrayValue>>();
      const Datum value = datum_at(call, 1, row);
      const Datum with = datum_at(call, 2, row);
      for (Datum& e : out.elements) {
        if (same(e, value, call.types[0].element())) e = with;
      }
      return array_datum(std::move(out));
    });
  })));
}

}  // namespace

void add_array_texts(FunctionTable& table);

void add_arrays(FunctionTable& table) {
  add_constructors(table);
  add_shapes(table);
  add_searches(table);
  add_array_texts(table);
}

}  // namespace freshet::expr
