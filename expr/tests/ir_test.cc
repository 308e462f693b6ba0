// SPDX-License-Identifier: Apache-2.0
// The pieces of the relational IR by themselves: Mfp, unique keys, error rows, calls that cannot fail.
#include <freshet/expr/error_row.h>
#include <freshet/expr/mfp.h>
#include <freshet/expr/relation.h>

#include <catch2/catch.hpp>

namespace freshet::expr {
namespace {

using repr::ColumnType;
using repr::Datum;
using repr::SqlType;
using repr::TypeKind;
using Keys = std::vector<std::vector<std::size_t>>;

const SqlType kInt(TypeKind::kInt4);
const SqlType kText(TypeKind::kText);
const ColumnType kIntColumn{kInt, true};

Scalar call(std::string_view signature, std::vector<Scalar> arguments) {
  const FunctionSpec* found = function_by_signature(signature);
  INFO(signature);
  REQUIRE(found != nullptr);
  return Scalar::call(found, std::move(arguments));
}
Scalar number(std::int32_t value) { return Scalar::literal(Datum(value), kInt); }
Scalar text(std::string value) { return Scalar::literal(Datum(std::move(value)), kText); }
Scalar column(std::size_t index) { return Scalar::column(index, kIntColumn); }
Scalar text_column(std::size_t index) { return Scalar::column(index, {kText, true}); }
Scalar plus(Scalar a, Scalar b) { return call("+(int4,int4)", {std::move(a), std::move(b)}); }
Scalar equal(Scalar a, Scalar b) { return call("=(int4,int4)", {std::move(a), std::move(b)}); }
Scalar quotient(Scalar a, Scalar b) { return call("/(int4,int4)", {std::move(a), std::move(b)}); }

// -- Mfp ----------------------------------------------------------------------------------------

TEST_CASE("mfp: one step after another is one step", "[expr][ir]") {
  const Mfp first = Mfp::identity(2).map({plus(column(0), column(1))}).project({2, 0});
  const Mfp second = Mfp::identity(2).filter({equal(column(0), number(3))}).value().map({plus(column(0), number(1))}).project({2, 1});
  const Mfp both = first.then(second).simplified();
  CHECK(both.input_arity == 2);
  CHECK(both.output_arity() == 2);
  CHECK(both.demand() == std::vector<std::size_t>{0, 1});
  // (a, b) gives (a + b + 1, a) where a + b = 3; written out, that is over the input alone.
  const Scalar sum = plus(column(0), column(1));
  std::vector<Scalar> outputs;
  const std::vector<Scalar> written = both.written_out();
  for (const std::size_t c : both.projection) {
    outputs.push_back(c < 2 ? column(c) : written[c - 2]);
  }
  CHECK(outputs[0] == plus(sum, number(1)));
  CHECK(outputs[1] == column(0));
  REQUIRE(both.predicates.size() == 1);
}

TEST_CASE("mfp: identity, projections and demand", "[expr][ir]") {
  CHECK(Mfp::identity(3).is_identity());
  CHECK(Mfp::identity(3).project({0, 1, 2}).is_identity());
  const Mfp swapped = Mfp::identity(3).project({2, 0});
  CHECK_FALSE(swapped.is_identity());
  CHECK(swapped.is_projection());
  CHECK(swapped.demand() == std::vector<std::size_t>{0, 2});
  CHECK(swapped.then(Mfp::identity(2)) == swapped);
  // What nothing uses goes; what occurs twice stays once.
  const Mfp twice = Mfp::identity(2).map({plus(column(0), number(1)), plus(column(0), number(1)), column(1)}).project({2, 3});
  const Mfp simple = twice.simplified();
  CHECK(simple.expressions.size() == 1);
  CHECK(simple.projection == std::vector<std::size_t>{2, 2});
  CHECK(simple.demand() == std::vector<std::size_t>{0});
}

TEST_CASE("mfp: an input may be laid out anew", "[expr][ir]") {
  const Mfp step = Mfp::identity(2).filter({equal(column(1), number(7))}).value().project({0});
  const std::vector<std::size_t> map{3, 1};
  const Mfp moved = step.with_input(map, 4);
  CHECK(moved.input_arity == 4);
  CHECK(moved.demand() == std::vector<std::size_t>{1, 3});
  CHECK(moved.projection == std::vector<std::size_t>{3});
}

TEST_CASE("mfp: comparisons with mz_now() become bounds", "[expr][ir][temporal]") {
  const ColumnType time{TypeKind::kNumeric, false};
  const Scalar bound = Scalar::column(0, time);
  const auto with = [&](std::string_view signature, bool now_first) {
    return now_first ? call(signature, {Scalar::mz_now(), bound}) : call(signature, {bound, Scalar::mz_now()});
  };
  const auto bounds = [&](const Scalar& predicate) {
    const Result<Mfp> mfp = Mfp::identity(1).filter({predicate});
    REQUIRE(mfp.has_value());
    CHECK(mfp->is_temporal());
    CHECK(mfp->predicates.empty());
    return std::pair(mfp->lower_bounds.size(), mfp->upper_bounds.size());
  };
  CHECK(bounds(with(">=(numeric,numeric)", true)) == std::pair<std::size_t, std::size_t>(1, 0));
  CHECK(bounds(with(">(numeric,numeric)", true)) == std::pair<std::size_t, std::size_t>(1, 0));
  CHECK(bounds(with("<(numeric,numeric)", true)) == std::pair<std::size_t, std::size_t>(0, 1));
  CHECK(bounds(with("<=(numeric,numeric)", false)) == std::pair<std::size_t, std::size_t>(1, 0));
  CHECK(bounds(with("=(numeric,numeric)", true)) == std::pair<std::size_t, std::size_t>(1, 1));
  // The time of a row cannot be its value, nor can it be anywhere but in a comparison.
  for (const Scalar& wrong : {with("<>(numeric,numeric)", true),
                              Scalar::disjunction({with("<(numeric,numeric)", true), with(">(numeric,numeric)", true)}),
                              call("=(numeric,numeric)", {call("+(numeric,numeric)", {Scalar::mz_now(), bound}), bound})}) {
    const Result<Mfp> refused = Mfp::identity(1).filter({wrong});
    INFO(to_string(wrong));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().sqlstate.view() == "0A000");
  }
}

// -- Unique keys --------------------------------------------------------------------------------

Relation table(std::size_t arity, Keys keys, std::uint64_t id = 1) {
  repr::RelationType type;
  type.columns.assign(arity, kIntColumn);
  type.keys = std::move(keys);
  return Relation::get(GlobalId{GlobalId::Kind::kUser, id}, std::move(type));
}

TEST_CASE("keys: follow rows through projections, filters and groups", "[expr][ir][keys]") {
  const Relation keyed = table(3, {{0, 1}});
  CHECK(keyed.project({1, 0}).type().keys == Keys{{0, 1}});
  CHECK(keyed.project({0, 2}).type().keys.empty());
  CHECK(keyed.map({plus(column(0), number(1))}).type().keys == Keys{{0, 1}});
  // A column that is one constant tells no rows apart.
  CHECK(keyed.filter({equal(column(1), number(4))}).type().keys == Keys{{0}});
  CHECK(keyed.filter({equal(column(0), number(4)), equal(column(1), number(4))}).type().keys == Keys{{}});
  CHECK(keyed.filter({equal(column(1), column(2))}).type().keys == Keys{{0, 1}});
  const Relation grouped = keyed.reduce({column(2), column(0)}, {});
  CHECK(grouped.type().keys == Keys{{0, 1}});
  CHECK(table(2, {}).reduce({}, {}).type().keys == Keys{{}});
  CHECK(table(3, {{0}}).reduce({column(1), column(0)}, {}).type().keys == Keys{{1}});
  CHECK(table(2, {}).distinct().type().keys == Keys{{0, 1}});
}

TEST_CASE("keys: joins on a key keep the other side's", "[expr][ir][keys]") {
  const Relation left = table(2, {{0}}, 1);
  const Relation right = table(2, {{0}}, 2);
  // On the right's key: each left row meets one right row at most.
  CHECK(Relation::join({left, right}, {{column(1), column(2)}}).type().keys == Keys{{0}});
  // On both keys: either will do.
  CHECK(Relation::join({left, right}, {{column(0), column(2)}}).type().keys == Keys{{0}, {2}});
  CHECK(Relation::join({left, right}, {{column(1), column(3)}}).type().keys == Keys{{0, 2}});
  CHECK(Relation::match(MatchKind::kSemi, left, right, {equal(column(1), column(3))}).type().keys == Keys{{0}});
  CHECK(Relation::match(MatchKind::kLeft, left, right, {equal(column(1), column(2))}).type().keys == Keys{{0}});
  CHECK(Relation::match(MatchKind::kLeft, left, right, {equal(column(1), column(3))}).type().keys == Keys{{0, 2}});
  // Unmatched rows of both sides could look alike: their key columns may be NULL.
  CHECK(Relation::match(MatchKind::kFull, left, right, {equal(column(0), column(2))}).type().keys.empty());
}

TEST_CASE("keys: unions lose them, the first row of each group has its group", "[expr][ir][keys]") {
  const Relation keyed = table(2, {{0}});
  CHECK(Relation::union_all({keyed, keyed}).type().keys.empty());
  const Scalar one = Scalar::literal(Datum(std::int64_t{1}), TypeKind::kInt8);
  const Scalar two = Scalar::literal(Datum(std::int64_t{2}), TypeKind::kInt8);
  const std::vector<ColumnOrder> order{{.column = 0}};
  CHECK(table(2, {}).top_k({1}, order, one, 0).type().keys == Keys{{1}});
  CHECK(table(2, {}).top_k({1}, order, two, 0).type().keys.empty());
  CHECK(keyed.top_k({1}, order, two, 0).type().keys == Keys{{0}});
}

// -- Error rows ---------------------------------------------------------------------------------

const Error kDivision = sql_error("22012", "division by zero");
const std::vector<ColumnType> kTwoInts{kIntColumn, kIntColumn};

TEST_CASE("error rows: survive their codec, and no damage harms it", "[expr][ir][errors]") {
  const ErrorRow row{.known = {Datum(std::int32_t{7}), std::nullopt}, .error = kDivision};
  const std::string bytes = encode_error_row(row, kTwoInts);
  const Result<ErrorRow> back = decode_error_row(bytes, kTwoInts);
  REQUIRE(back.has_value());
  CHECK(encode_error_row(*back, kTwoInts) == bytes);
  CHECK(back->error == kDivision);
  CHECK(back->known[0].has_value());
  CHECK_FALSE(back->known[1].has_value());
  CHECK(encode_error_row(ErrorRow::unknown(2, kDivision), kTwoInts) != bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(decode_error_row(std::string_view(bytes).substr(0, size), kTwoInts).has_value());
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int flip = 1; flip < 256; ++flip) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const Result<ErrorRow> read = decode_error_row(damaged, kTwoInts);
      if (read) CHECK(read->known.size() == 2);
    }
  }
}

TEST_CASE("error rows: what is known decides what it can", "[expr][ir][errors]") {
  const PartialRow row{Datum(std::int32_t{7}), std::nullopt};
  const auto state = [&](const Scalar& scalar) { return evaluate_partial(scalar, row, kTwoInts).state; };
  const auto rejects = [&](const Scalar& scalar) { return evaluate_partial(scalar, row, kTwoInts).rejects(); };
  using State = PartialValue::State;
  const Scalar is_seven = equal(column(0), number(7));
  const Scalar is_eight = equal(column(0), number(8));
  const Scalar unknown = equal(column(1), number(1));
  CHECK(state(is_seven) == State::kValue);
  CHECK(rejects(is_eight));
  CHECK_FALSE(rejects(is_seven));
  CHECK(state(unknown) == State::kUnknown);
  CHECK(rejects(Scalar::conjunction({unknown, is_eight})));
  CHECK(state(Scalar::disjunction({unknown, is_seven})) == State::kValue);
  CHECK(state(Scalar::conjunction({unknown, is_seven})) == State::kUnknown);
  CHECK(state(Scalar::if_then(is_seven, number(1), column(1))) == State::kValue);
  CHECK(state(Scalar::if_then(unknown, number(1), number(2))) == State::kUnknown);
  CHECK(state(Scalar::coalesce({column(0), column(1)})) == State::kValue);
  CHECK(state(quotient(number(1), number(0))) == State::kFailed);
  CHECK(state(Scalar::mz_now()) == State::kUnknown);
}

TEST_CASE("error rows: filters drop them only where they contradict", "[expr][ir][errors]") {
  const ErrorRow row{.known = {Datum(std::int32_t{7}), std::nullopt}, .error = kDivision};
  const auto through = [&](const Scalar& predicate) {
    return apply_mfp(Mfp::identity(2).filter({predicate}).value(), row, kTwoInts).has_value();
  };
  CHECK(through(equal(column(0), number(7))));
  CHECK_FALSE(through(equal(column(0), number(8))));
  CHECK(through(equal(column(1), number(8))));
  const auto mapped = apply_mfp(Mfp::identity(2).map({plus(column(0), number(1)), column(1)}).project({2, 3}), row, kTwoInts);
  REQUIRE(mapped.has_value());
  REQUIRE(mapped->known[0].has_value());
  CHECK(mapped->known[0]->get<std::int32_t>() == 8);
  CHECK_FALSE(mapped->known[1].has_value());
}

TEST_CASE("error rows: a join keeps what equals something known", "[expr][ir][errors]") {
  const std::vector<ColumnType> types(4, kIntColumn);
  const std::vector<std::vector<Scalar>> classes{{column(0), column(2)}};
  const JoinErrors join{.equivalences = classes, .types = types};
  const ErrorRow known{.known = {Datum(std::int32_t{7}), std::nullopt}, .error = kDivision};
  const auto joined = join_error(join, 0, known);
  REQUIRE(joined.has_value());
  REQUIRE(joined->known.size() == 4);
  CHECK(joined->known[0].has_value());
  CHECK(joined->known[2].has_value());
  CHECK_FALSE(joined->known[3].has_value());
  // NULL equals nothing: such a row has no partner, whatever failed in it.
  CHECK_FALSE(join_error(join, 0, {.known = {Datum(), std::nullopt}, .error = kDivision}).has_value());
  CHECK(join_error(join, 2, ErrorRow::unknown(2, kDivision)).has_value());
  CHECK(group_error({Datum(std::int32_t{1}), std::nullopt}, 3, kDivision).known[0] == std::nullopt);
  CHECK(group_error({Datum(std::int32_t{1})}, 2, kDivision).known[0].has_value());
}

TEST_CASE("error rows: a match finds that no row can have two values in one column", "[expr][ir][errors]") {
  // left.0 = right.0 AND left.0 = right.1
  const std::vector<Scalar> left{column(0), column(0)};
  const std::vector<Scalar> right{column(0), column(1)};
  const ErrorRow apart{.known = {Datum(std::int32_t{3}), Datum(std::int32_t{0})}, .error = kDivision};
  const ErrorRow alike{.known = {Datum(std::int32_t{3}), Datum(std::int32_t{3})}, .error = kDivision};
  for (const MatchKind kind : {MatchKind::kSemi, MatchKind::kAnti, MatchKind::kLeft}) {
    const MatchErrors match{kind, left, right, kTwoInts, kTwoInts};
    CHECK(match_right_error(match, apart).empty());
    REQUIRE_FALSE(match_right_error(match, alike).empty());
    CHECK(match_right_error(match, alike).front().known[0].has_value());
  }
  const MatchErrors turned{MatchKind::kLeft, right, left, kTwoInts, kTwoInts};
  CHECK(match_left_error(turned, apart).size() == 1);  // only without a partner
  CHECK(match_left_error(turned, alike).size() == 2);
  CHECK(match_left_error({MatchKind::kSemi, right, left, kTwoInts, kTwoInts}, apart).empty());
}

// -- Calls that cannot fail ---------------------------------------------------------------------

TEST_CASE("literals: a sound pattern, field or divisor rules failure out", "[expr][ir][literals]") {
  const Scalar subject = text_column(0);
  for (const char* op : {"~~(text,text)", "!~~(text,text)", "~~*(text,text)", "like(text,text)"}) {
    INFO(op);
    CHECK_FALSE(call(op, {subject, text("a%_\\%")}).can_fail());
    CHECK_FALSE(call(op, {subject, text("a\\\\")}).can_fail());
    CHECK_FALSE(call(op, {subject, text("")}).can_fail());
    CHECK(call(op, {subject, text("a\\")}).can_fail());
    CHECK(call(op, {subject, text("\\")}).can_fail());
    CHECK(call(op, {subject, text_column(1)}).can_fail());
  }
  for (const char* op : {"~(text,text)", "!~*(text,text)", "regexp_match(text,text)", "substring(text,text)"}) {
    INFO(op);
    CHECK_FALSE(call(op, {subject, text("^a+(b|c)$")}).can_fail());
    CHECK(call(op, {subject, text("a(")}).can_fail());
    CHECK(call(op, {subject, text_column(1)}).can_fail());
  }
  CHECK_FALSE(call("regexp_replace(text,text,text)", {subject, text("a"), text_column(1)}).can_fail());
  CHECK(call("regexp_replace(text,text,text)", {subject, text("("), text("b")}).can_fail());
  CHECK(call("regexp_replace(text,text,text,text)", {subject, text("a"), text("b"), text("?")}).can_fail());
  CHECK_FALSE(call("substr(text,int4,int4)", {subject, column(1), number(0)}).can_fail());
  CHECK(call("substr(text,int4,int4)", {subject, number(1), number(-1)}).can_fail());
  CHECK(call("substr(text,int4,int4)", {subject, number(1), column(1)}).can_fail());
  const Scalar day = Scalar::column(0, {TypeKind::kDate, true});
  const Scalar moment = Scalar::column(0, {TypeKind::kTimestamp, true});
  CHECK_FALSE(call("extract(text,date)", {text("year"), day}).can_fail());
  CHECK(call("extract(text,date)", {text("hour"), day}).can_fail());
  CHECK_FALSE(call("extract(text,timestamp)", {text("hour"), moment}).can_fail());
  CHECK(call("extract(text,timestamp)", {text("century of"), moment}).can_fail());
  CHECK(call("date_part(text,date)", {text("year"), day}).can_fail());
  CHECK_FALSE(quotient(column(0), number(2)).can_fail());
  CHECK(quotient(column(0), number(0)).can_fail());
  CHECK(quotient(column(0), number(-1)).can_fail());
  CHECK_FALSE(call("%(int4,int4)", {column(0), number(-1)}).can_fail());
  CHECK(call("%(int4,int4)", {column(0), number(0)}).can_fail());
  // An argument that fails does so all the same.
  CHECK(quotient(quotient(column(0), column(1)), number(2)).can_fail());
}

}  // namespace
}  // namespace freshet::expr
