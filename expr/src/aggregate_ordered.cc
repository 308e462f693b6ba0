// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/aggregate.h>

namespace freshet::expr {

using repr::ArrayValue;
using repr::Datum;

OrderedAggregate::OrderedAggregate(const AggregateSpec& spec, std::vector<repr::SqlType> types)
    : spec_(spec), types_(std::move(types)) {
  FRESHET_ASSERT(spec.aggregate_class != AggregateClass::kAccumulable, spec.signature);
}

bool OrderedAggregate::add(const repr::DatumRow& arguments, repr::Diff count) {
  if (count < 0) negative_ = true;
  if (count <= 0) return negative_;
  switch (spec_.kind) {
    case AggregateKind::kMin:
      if (any_ || arguments[0].is_null()) return any_;
      value_ = arguments[0];
      any_ = true;
      return true;
    case AggregateKind::kMax:
      if (arguments[0].is_null()) return false;
      value_ = arguments[0];
      any_ = true;
      return false;
    case AggregateKind::kStringAgg:
    case AggregateKind::kByteaAgg:
      for (repr::Diff i = 0; i < count; ++i) add_text(arguments);
      return false;
    case AggregateKind::kArrayAgg:
      for (repr::Diff i = 0; i < count; ++i) elements_.push_back(arguments[0]);
      any_ = true;
      return false;
    default: break;
  }
  FRESHET_UNREACHABLE(spec_.signature);
}

void OrderedAggregate::add_text(const repr::DatumRow& arguments) {
  if (arguments[0].is_null()) return;
  if (any_ && !arguments[1].is_null()) text_ += arguments[1].get<std::string>();
  text_ += arguments[0].get<std::string>();
  any_ = true;
}

namespace {

base::Unexpected null_arrays() { return fail("22004", "cannot accumulate null arrays"); }

// array_agg of arrays: one dimension more; all must have the same shape.
Result<Datum> stack(const std::vector<Datum>& arrays) {
  ArrayValue out;
  for (const Datum& datum : arrays) {
    if (datum.is_null()) return null_arrays();
    const ArrayValue& array = *datum.get<std::shared_ptr<const ArrayValue>>();
    if (array.dimensions.empty()) {
      return fail(sqlstate::kArraySubscriptError, "cannot accumulate empty arrays");
    }
    if (out.dimensions.empty()) {
      out.dimensions.push_back({1, static_cast<std::int32_t>(arrays.size())});
      out.dimensions.insert(out.dimensions.end(), array.dimensions.begin(), array.dimensions.end());
    } else if (!std::equal(array.dimensions.begin(), array.dimensions.end(), out.dimensions.begin() + 1,
                           out.dimensions.end())) {
      return fail(sqlstate::kArraySubscriptError, "cannot accumulate arrays of different dimensionality");
    }
    out.elements.insert(out.elements.end(), array.elements.begin(), array.elements.end());
  }
  return Datum(std::make_shared<const ArrayValue>(std::move(out)));
}

}  // namespace

Result<Datum> OrderedAggregate::finish() {
  if (negative_) {
    return fail(sqlstate::kInternalError, "a group has rows with negative multiplicity");
  }
  if (!any_) return Datum();
  switch (spec_.kind) {
    case AggregateKind::kStringAgg:
    case AggregateKind::kByteaAgg: return Datum(std::move(text_));
    case AggregateKind::kArrayAgg: {
      if (types_[0].kind() == repr::TypeKind::kArray) return stack(elements_);
      ArrayValue array;
      array.dimensions.push_back({1, static_cast<std::int32_t>(elements_.size())});
      array.elements = std::move(elements_);
      return Datum(std::make_shared<const ArrayValue>(std::move(array)));
    }
    default: return value_;
  }
}

}  // namespace freshet::expr
