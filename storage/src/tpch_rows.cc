// SPDX-License-Identifier: Apache-2.0
#include "tpch_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include <freshet/base/random.h>

namespace freshet::storage {
namespace {

using repr::BytesVector;
using repr::Numeric;
using Keys = std::vector<std::int64_t>;
using Ints = std::vector<std::int32_t>;
using Money = std::vector<Numeric>;

constexpr std::string_view kSyllables1[] = {"STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"};
constexpr std::string_view kSyllables2[] = {"ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"};
constexpr std::string_view kSyllables3[] = {"TIN", "NICKEL", "BRASS", "STEEL", "COPPER"};
constexpr std::string_view kContainers1[] = {"SM", "MED", "JUMBO", "WRAP", "LG"};
constexpr std::string_view kContainers2[] = {"CASE", "BOX", "JAR", "PKG", "PACK", "CAN", "DRUM", "BAG"};
constexpr std::string_view kSegments[] = {"AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"};
constexpr std::string_view kPriorities[] = {"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"};
constexpr std::string_view kInstructions[] = {"DELIVER IN PERSON", "COLLECT COD", "TAKE BACK RETURN", "NONE"};
constexpr std::string_view kModes[] = {"REG AIR", "AIR", "RAIL", "TRUCK", "MAIL", "FOB", "SHIP"};
constexpr std::string_view kColors[] = {
    "almond", "antique", "aquamarine", "azure", "beige", "bisque", "black", "blanched", "blue", "blush",
    "brown", "burlywood", "burnished", "chartreuse", "chiffon", "chocolate", "coral", "cornflower",
    "cream", "cyan", "dark", "deep", "dim", "dodger", "drab", "firebrick", "floral", "forest", "frosted",
    "gainsboro", "ghost", "goldenrod", "green", "grey", "honeydew", "hot", "indian", "ivory", "khaki",
    "lace", "lavender", "lawn", "lemon", "light", "lime", "linen", "magenta", "maroon", "medium", "metallic",
    "midnight", "mint", "misty", "moccasin", "navajo", "navy", "olive", "orange", "orchid", "pale", "papaya",
    "peach", "peru", "pink", "plum", "powder", "puff", "purple", "red", "rose", "rosy", "royal", "saddle",
    "salmon", "sandy", "seashell", "sienna", "sky", "slate", "smoke", "snow", "spring", "steel", "tan",
    "thistle", "tomato", "turquoise", "violet", "wheat", "white", "yellow"};
constexpr std::string_view kWords[] = {
    "packages", "requests", "accounts", "deposits", "foxes", "ideas", "theodolites", "instructions",
    "dependencies", "excuses", "platelets", "asymptotes", "courts", "dolphins", "sleep", "wake", "are",
    "cajole", "haggle", "nag", "use", "boost", "affix", "detect", "integrate", "special", "pending",
    "unusual", "express", "furious", "sly", "careful", "blithe", "quick", "fluffy", "slow", "quiet", "ruthless",
    "thin", "close", "dogged", "daring", "bold", "final", "regular", "ironic", "even", "silent", "about",
    "above", "according to", "across", "after", "against", "along", "among", "the", "carefully",
    "furiously", "slyly", "Customer", "Complaints", "Recommends"};
struct Nation {
  std::string_view name;
  std::int64_t region;
};
constexpr Nation kNations[] = {
    {"ALGERIA", 0}, {"ARGENTINA", 1}, {"BRAZIL", 1}, {"CANADA", 1}, {"EGYPT", 4}, {"ETHIOPIA", 0},
    {"FRANCE", 3}, {"GERMANY", 3}, {"INDIA", 2}, {"INDONESIA", 2}, {"IRAN", 4}, {"IRAQ", 4}, {"JAPAN", 2},
    {"JORDAN", 4}, {"KENYA", 0}, {"MOROCCO", 0}, {"MOZAMBIQUE", 0}, {"PERU", 1}, {"CHINA", 2},
    {"ROMANIA", 3}, {"SAUDI ARABIA", 4}, {"VIETNAM", 2}, {"RUSSIA", 3}, {"UNITED KINGDOM", 3},
    {"UNITED STATES", 1}};
constexpr std::string_view kRegions[] = {"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"};

// Days since 2000-01-01 of the dates that the benchmark fixes.
constexpr std::int32_t kStartDate = -2922;    // 1992-01-01
constexpr std::int32_t kCurrentDate = -1659;  // 1995-06-17
constexpr std::int32_t kEndDate = -366;       // 1998-12-31

Numeric cents(std::int64_t value) { return Numeric::from_parts(value, 2); }

void append_number(std::string& out, std::uint64_t value, int width) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, width - (end - digits))), '0');
  out.append(digits, end);
}

std::int64_t retail_price_cents(std::uint64_t part_key) {
  return static_cast<std::int64_t>(90000 + (part_key / 10) % 20001 + 100 * (part_key % 1000));
}

}  // namespace

/// Independent draws for one row: a counter-based generator keyed by the row's name.
class TpchRows::Draw {
 public:
  Draw(std::uint64_t key, const std::string& pool) : state_(key), pool_(pool) {}

  std::uint64_t below(std::uint64_t bound) {
    state_ = base::mix64(state_);
    return static_cast<std::uint64_t>((static_cast<base::detail::Wide>(state_) * bound) >> 64);
  }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  template <std::size_t N>
  std::string_view pick(const std::string_view (&list)[N]) {
    return list[below(N)];
  }
  std::string_view comment(std::size_t least, std::size_t most) {
    const std::size_t length = least + below(most - least + 1);
    return std::string_view(pool_).substr(below(pool_.size() - length), length);
  }
  void address(std::string& out) {
    static constexpr std::string_view kLetters =
        "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";
    for (std::uint64_t left = 10 + below(31); left > 0; --left) out.push_back(kLetters[below(64)]);
  }
  void phone(std::string& out, std::uint64_t nation) {
    append_number(out, nation + 10, 2);
    for (const int width : {3, 3, 4}) {
      out.push_back('-');
      const std::uint64_t low = width == 3 ? 100 : 1000;
      append_number(out, low + below(low * 9), width);
    }
  }

 private:
  std::uint64_t state_;
  const std::string& pool_;
};

TpchSizes::TpchSizes(double scale_factor) {
  auto scaled = [&](double base) {
    return static_cast<std::uint64_t>(std::max(1.0, std::round(base * scale_factor)));
  };
  suppliers = scaled(10'000);
  parts = scaled(200'000);
  customers = scaled(150'000);
  orders = scaled(1'500'000);
  clerks = scaled(1'000);
}

TpchColumns::TpchColumns(TpchTable table) {
  const auto outputs = storage_api::generator_outputs({.kind = storage_api::LoadGenerator::Kind::kTpch});
  for (const repr::ColumnType& column :
       outputs[static_cast<std::size_t>(table)].second.type.columns) {
    types_.push_back(column.type.physical());
    builders_.emplace_back(types_.back());
  }
}

std::vector<repr::ColumnPtr> TpchColumns::finish() {
  std::vector<repr::ColumnPtr> columns;
  for (std::size_t i = 0; i < builders_.size(); ++i) {
    columns.push_back(builders_[i].finish());
    builders_[i] = repr::ColumnBuilder(types_[i]);
  }
  return columns;
}

TpchRows::TpchRows(double scale_factor, std::uint64_t seed) : sizes_(scale_factor), seed_(seed) {
  base::Random random(base::mix64(seed ^ 0x7470636874657874ULL));
  text_pool_.reserve(301'000);
  while (text_pool_.size() < 300'000) {
    text_pool_.append(kWords[random.below(std::size(kWords))]);
    text_pool_.push_back(random.one_in(12) ? '.' : ' ');
  }
}

TpchRows::Draw TpchRows::draw(TpchTable table, std::uint64_t key, std::uint64_t version) const {
  std::uint64_t state = base::mix64(seed_ + static_cast<std::uint64_t>(table));
  state = base::mix64(state ^ key);
  return Draw(base::mix64(state + version), text_pool_);
}

std::uint64_t TpchRows::supplier_of(std::uint64_t part_key, std::uint64_t i) const {
  const std::uint64_t s = sizes_.suppliers;
  return (part_key + i * (s / 4 + (part_key - 1) / s)) % s + 1;
}

void TpchRows::supplier(std::uint64_t index, TpchColumns& out) const {
  const std::uint64_t key = index + 1;
  Draw d = draw(TpchTable::kSupplier, key, 0);
  const std::uint64_t nation = d.below(25);
  out.at<Keys>(0).push_back(static_cast<std::int64_t>(key));
  auto& name = out.at<BytesVector>(1);
  name.buffer().append("Supplier#");
  append_number(name.buffer(), key, 9);
  name.close();
  d.address(out.at<BytesVector>(2).buffer());
  out.at<BytesVector>(2).close();
  out.at<Keys>(3).push_back(static_cast<std::int64_t>(nation));
  d.phone(out.at<BytesVector>(4).buffer(), nation);
  out.at<BytesVector>(4).close();
  out.at<Money>(5).push_back(cents(d.between(-99'999, 999'999)));
  out.at<BytesVector>(6).push_back(d.comment(25, 100));
}

void TpchRows::part(std::uint64_t index, TpchColumns& out) const {
  const std::uint64_t key = index + 1;
  Draw d = draw(TpchTable::kPart, key, 0);
  out.at<Keys>(0).push_back(static_cast<std::int64_t>(key));
  auto& name = out.at<BytesVector>(1);
  for (int i = 0; i < 5; ++i) {
    if (i > 0) name.buffer().push_back(' ');
    name.buffer().append(d.pick(kColors));
  }
  name.close();
  const std::uint64_t maker = 1 + d.below(5);
  auto& manufacturer = out.at<BytesVector>(2);
  manufacturer.buffer().append("Manufacturer#");
  append_number(manufacturer.buffer(), maker, 1);
  manufacturer.close();
  auto& brand = out.at<BytesVector>(3);
  brand.buffer().append("Brand#");
  append_number(brand.buffer(), maker * 10 + 1 + d.below(5), 2);
  brand.close();
  auto& type = out.at<BytesVector>(4);
  type.buffer().append(d.pick(kSyllables1)).append(" ").append(d.pick(kSyllables2));
  type.buffer().append(" ").append(d.pick(kSyllables3));
  type.close();
  out.at<Ints>(5).push_back(static_cast<std::int32_t>(d.between(1, 50)));
  auto& container = out.at<BytesVector>(6);
  container.buffer().append(d.pick(kContainers1)).append(" ").append(d.pick(kContainers2));
  container.close();
  out.at<Money>(7).push_back(cents(retail_price_cents(key)));
  out.at<BytesVector>(8).push_back(d.comment(5, 22));
}

void TpchRows::partsupp(std::uint64_t part_index, TpchColumns& out) const {
  const std::uint64_t part_key = part_index + 1;
  for (std::uint64_t i = 0; i < 4; ++i) {
    Draw d = draw(TpchTable::kPartsupp, part_key * 4 + i, 0);
    out.at<Keys>(0).push_back(static_cast<std::int64_t>(part_key));
    out.at<Keys>(1).push_back(static_cast<std::int64_t>(supplier_of(part_key, i)));
    out.at<Ints>(2).push_back(static_cast<std::int32_t>(d.between(1, 9'999)));
    out.at<Money>(3).push_back(cents(d.between(100, 100'000)));
    out.at<BytesVector>(4).push_back(d.comment(49, 198));
  }
}

void TpchRows::customer(std::uint64_t index, TpchColumns& out) const {
  const std::uint64_t key = index + 1;
  Draw d = draw(TpchTable::kCustomer, key, 0);
  const std::uint64_t nation = d.below(25);
  out.at<Keys>(0).push_back(static_cast<std::int64_t>(key));
  auto& name = out.at<BytesVector>(1);
  name.buffer().append("Customer#");
  append_number(name.buffer(), key, 9);
  name.close();
  d.address(out.at<BytesVector>(2).buffer());
  out.at<BytesVector>(2).close();
  out.at<Keys>(3).push_back(static_cast<std::int64_t>(nation));
  d.phone(out.at<BytesVector>(4).buffer(), nation);
  out.at<BytesVector>(4).close();
  out.at<Money>(5).push_back(cents(d.between(-99'999, 999'999)));
  out.at<BytesVector>(6).push_back(d.pick(kSegments));
  out.at<BytesVector>(7).push_back(d.comment(29, 116));
}

void TpchRows::order(std::uint64_t index, std::uint64_t version, TpchColumns& orders,
                     TpchColumns& lines) const {
  // Eight of every thirty-two keys are used, and no customer whose key divides by three orders.
  const std::uint64_t key = (index / 8) * 32 + index % 8 + 1;
  Draw d = draw(TpchTable::kOrders, key, version);
  std::uint64_t customer = 1 + d.below(sizes_.customers);
  if (customer % 3 == 0) customer = customer + 1 <= sizes_.customers ? customer + 1 : customer - 1;
  const auto date = static_cast<std::int32_t>(d.between(kStartDate, kEndDate - 151));
  const std::uint64_t line_count = 1 + d.below(7);
  std::int64_t total = 0;  // in 1/1,000,000: price * (1 + tax) * (1 - discount)
  std::uint64_t shipped = 0;
  for (std::uint64_t line = 1; line <= line_count; ++line) {
    const std::uint64_t part = 1 + d.below(sizes_.parts);
    const std::int64_t quantity = d.between(1, 50);
    const std::int64_t price = quantity * retail_price_cents(part);
    const std::int64_t discount = d.between(0, 10);
    const std::int64_t tax = d.between(0, 8);
    const auto ship = static_cast<std::int32_t>(date + d.between(1, 121));
    const auto commit = static_cast<std::int32_t>(date + d.between(30, 90));
    const auto receipt = static_cast<std::int32_t>(ship + d.between(1, 30));
    total += price * (100 + tax) * (100 - discount);
    if (ship <= kCurrentDate) ++shipped;
    lines.at<Keys>(0).push_back(static_cast<std::int64_t>(key));
    lines.at<Keys>(1).push_back(static_cast<std::int64_t>(part));
    lines.at<Keys>(2).push_back(static_cast<std::int64_t>(supplier_of(part, d.below(4))));
    lines.at<Ints>(3).push_back(static_cast<std::int32_t>(line));
    lines.at<Money>(4).push_back(cents(quantity * 100));
    lines.at<Money>(5).push_back(cents(price));
    lines.at<Money>(6).push_back(cents(discount));
    lines.at<Money>(7).push_back(cents(tax));
    lines.at<BytesVector>(8).push_back(receipt <= kCurrentDate ? (d.below(2) == 0 ? "R" : "A") : "N");
    lines.at<BytesVector>(9).push_back(ship > kCurrentDate ? "O" : "F");
    lines.at<Ints>(10).push_back(ship);
    lines.at<Ints>(11).push_back(commit);
    lines.at<Ints>(12).push_back(receipt);
    lines.at<BytesVector>(13).push_back(d.pick(kInstructions));
    lines.at<BytesVector>(14).push_back(d.pick(kModes));
    lines.at<BytesVector>(15).push_back(d.comment(10, 43));
  }
  orders.at<Keys>(0).push_back(static_cast<std::int64_t>(key));
  orders.at<Keys>(1).push_back(static_cast<std::int64_t>(customer));
  orders.at<BytesVector>(2).push_back(shipped == line_count ? "F" : shipped == 0 ? "O" : "P");
  orders.at<Money>(3).push_back(cents((total + 5'000) / 10'000));
  orders.at<Ints>(4).push_back(date);
  orders.at<BytesVector>(5).push_back(d.pick(kPriorities));
  auto& clerk = orders.at<BytesVector>(6);
  clerk.buffer().append("Clerk#");
  append_number(clerk.buffer(), 1 + d.below(sizes_.clerks), 9);
  clerk.close();
  orders.at<Ints>(7).push_back(0);
  orders.at<BytesVector>(8).push_back(d.comment(19, 78));
}

void TpchRows::nations(TpchColumns& out) const {
  for (std::size_t i = 0; i < std::size(kNations); ++i) {
    Draw d = draw(TpchTable::kNation, i, 0);
    out.at<Keys>(0).push_back(static_cast<std::int64_t>(i));
    out.at<BytesVector>(1).push_back(kNations[i].name);
    out.at<Keys>(2).push_back(kNations[i].region);
    out.at<BytesVector>(3).push_back(d.comment(31, 114));
  }
}

void TpchRows::regions(TpchColumns& out) const {
  for (std::size_t i = 0; i < std::size(kRegions); ++i) {
    Draw d = draw(TpchTable::kRegion, i, 0);
    out.at<Keys>(0).push_back(static_cast<std::int64_t>(i));
    out.at<BytesVector>(1).push_back(kRegions[i]);
    out.at<BytesVector>(2).push_back(d.comment(31, 115));
  }
}

}  // namespace freshet::storage
