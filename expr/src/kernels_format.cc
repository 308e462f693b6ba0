// SPDX-License-Identifier: Apache-2.0
/// to_char, to_date and to_timestamp. A template is taken apart once for a run of equal ones.
#include <optional>

#include <freshet/repr/datetime.h>

#include "date_format.h"
#include "function_table.h"
#include "number_format.h"

namespace freshet::expr {
namespace {

using repr::Interval;
using repr::Numeric;
using View = std::string_view;
using I8 = std::int64_t;

// What `parse` makes of the last template.
template <typename Parsed, Parsed (*parse)(View)>
class Remembered {
 public:
  const Parsed& get(View text) {
    if (!parsed_.has_value() || text != text_) {
      text_ = text;
      parsed_.emplace(parse(text));
    }
    return *parsed_;
  }

 private:
  std::string text_;
  std::optional<Parsed> parsed_;
};
using DateTemplate = Remembered<std::vector<DateNode>, &parse_date_template>;

// f(nodes, value) gives Result<std::optional<std::string>>; an empty template gives NULL.
template <typename T, typename F>
repr::ColumnPtr print_dates(KernelCall& call) {
  const Reader<T> values(*call.arguments[0], call.rows);
  const Reader<View> formats(*call.arguments[1], call.rows);
  auto validity = strict_validity(call);
  repr::BytesVector out;
  RowErrors found;
  DateTemplate pattern;
  for (std::size_t row = 0; row < call.rows; ++row) {
    if (validity.empty() || validity[row] != 0) {
      if (formats[row].empty()) {
        set_null(validity, call.rows, row);
      } else {
        Result<std::optional<std::string>> text = F{}(pattern.get(formats[row]), values[row]);
        if (!text.has_value()) {
          note_error(call, validity, row, std::move(text).error(), found);
        } else if (!text->has_value()) {
          set_null(validity, call.rows, row);
        } else {
          out.buffer() += **text;
        }
      }
    }
    out.close();
  }
  finish_errors(call, found);
  return make_column(std::move(out), std::move(validity));
}

template <typename T, typename F>
Lifted printer(F) {
  static constexpr ScalarKernel kernel{&print_dates<T, F>};
  return {&kernel, true, true};
}

void add_date_printing(FunctionTable& table) {
  using Text = Result<std::optional<std::string>>;
  table.add("to_char", {K::kTimestamp, K::kText}, K::kText,
            printer<I8>([](const std::vector<DateNode>& nodes, I8 t) -> Text {
              if (repr::is_infinite_timestamp(t)) return std::optional<std::string>();
              return std::optional(format_timestamp(nodes, t, false));
            }));
  table.add("to_char", {K::kTimestampTz, K::kText}, K::kText,
            printer<I8>([](const std::vector<DateNode>& nodes, I8 t) -> Text {
              if (repr::is_infinite_timestamp(t)) return std::optional<std::string>();
              return std::optional(format_timestamp(nodes, t, true));
            }));
  table.add("to_char", {K::kInterval, K::kText}, K::kText,
            printer<Interval>([](const std::vector<DateNode>& nodes, const Interval& i) -> Text {
              return std::optional(FRESHET_TRY(format_interval(nodes, i)));
            }));
}

std::string print_number(const NumberFormat& format, const Numeric& x) { return format.format(x); }
std::string print_number(const NumberFormat& format, std::int32_t x) { return format.format(Numeric(x)); }
std::string print_number(const NumberFormat& format, I8 x) { return format.format(Numeric(x)); }
std::string print_number(const NumberFormat& format, float x) { return format.format_float(x, 6); }
std::string print_number(const NumberFormat& format, double x) { return format.format_float(x, 15); }

template <typename T>
repr::ColumnPtr print_numbers(KernelCall& call) {
  using Parsed = Remembered<Result<NumberFormat>, &NumberFormat::parse>;
  const Reader<T> values(*call.arguments[0], call.rows);
  const Reader<View> formats(*call.arguments[1], call.rows);
  auto validity = strict_validity(call);
  repr::BytesVector out;
  RowErrors found;
  Parsed pattern;
  for (std::size_t row = 0; row < call.rows; ++row) {
    if (validity.empty() || validity[row] != 0) {
      const Result<NumberFormat>& format = pattern.get(formats[row]);
      if (format.has_value()) {
        out.buffer() += print_number(format.value(), values[row]);
      } else {
        note_error(call, validity, row, format.error(), found);
      }
    }
    out.close();
  }
  finish_errors(call, found);
  return make_column(std::move(out), std::move(validity));
}

template <typename T>
void add_number_printing(FunctionTable& table, K kind) {
  static constexpr ScalarKernel kernel{&print_numbers<T>};
  table.add("to_char", {kind, K::kText}, K::kText, {&kernel, true, false});
}

template <typename T, Result<T> (*parse)(const std::vector<DateNode>&, View)>
repr::ColumnPtr read_dates(KernelCall& call) {
  const Reader<View> texts(*call.arguments[0], call.rows);
  const Reader<View> formats(*call.arguments[1], call.rows);
  auto validity = strict_validity(call);
  std::vector<T> out(call.rows);
  RowErrors found;
  DateTemplate pattern;
  for (std::size_t row = 0; row < call.rows; ++row) {
    if (!validity.empty() && validity[row] == 0) continue;
    const Result<T> time = parse(pattern.get(formats[row]), texts[row]);
    if (time.has_value()) {
      out[row] = time.value();
    } else {
      note_error(call, validity, row, time.error(), found);
    }
  }
  finish_errors(call, found);
  return make_column(std::move(out), std::move(validity));
}

}  // namespace

void add_date_formats(FunctionTable& table) {
  add_date_printing(table);
  add_number_printing<Numeric>(table, K::kNumeric);
  add_number_printing<std::int32_t>(table, K::kInt4);
  add_number_printing<I8>(table, K::kInt8);
  add_number_printing<float>(table, K::kFloat4);
  add_number_printing<double>(table, K::kFloat8);
  static constexpr ScalarKernel timestamps{&read_dates<I8, &parse_timestamp>};
  static constexpr ScalarKernel dates{&read_dates<std::int32_t, &parse_date>};
  table.add("to_timestamp", {K::kText, K::kText}, K::kTimestampTz, {&timestamps, true, false});
  table.add("to_date", {K::kText, K::kText}, K::kDate, {&dates, true, false});
}

}  // namespace freshet::expr
