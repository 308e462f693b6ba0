// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/aggregate.h>

#include "value_size.h"

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
      return !add_text(arguments, static_cast<std::uint64_t>(count));
    case AggregateKind::kArrayAgg:
      any_ = true;
      return !add_element(arguments[0], static_cast<std::uint64_t>(count));
    default: break;
  }
  FRESHET_UNREACHABLE(spec_.signature);
}

// False: the value is too large, and nothing was taken.
bool OrderedAggregate::add_text(const repr::DatumRow& arguments, std::uint64_t count) {
  if (arguments[0].is_null()) return true;
  const std::string& text = arguments[0].get<std::string>();
  const std::string separator = arguments[1].is_null() ? std::string() : arguments[1].get<std::string>();
  const std::size_t more = text.size() + separator.size();
  // The first value of all has no separator.
  const std::size_t room = kMostValueBytes - text_.size() + (any_ ? 0 : separator.size());
  if (more > 0 && count > room / more) {
    error_ = sql_error(sqlstate::kProgramLimitExceeded, "out of memory");
    error_->detail = "Cannot enlarge string buffer containing " + std::to_string(text_.size()) + " bytes by " +
                     std::to_string(more) + " more bytes.";
    return false;
  }
  for (std::uint64_t i = 0; i < (more > 0 ? count : 0); ++i) {
    if (any_ || i > 0) text_ += separator;
    text_ += text;
  }
  any_ = true;
  return true;
}

bool OrderedAggregate::add_element(const repr::Datum& element, std::uint64_t count) {
  const std::size_t bytes = std::max<std::size_t>(8, weight(element));
  if (count > (kMostValueBytes - bytes_) / bytes) {
    error_ = too_many_elements().error;
    return false;
  }
  bytes_ += count * bytes;
  elements_.insert(elements_.end(), count, element);
  return true;
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
      if (array.dimensions.size() == kMostDimensions) return too_many_dimensions(kMostDimensions + 1);
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
  if (error_.has_value()) return fail(*error_);
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
