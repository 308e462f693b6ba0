// SPDX-License-Identifier: Apache-2.0
#include "plan_writer.h"

#include <freshet/expr/codec.h>
#include <freshet/expr/id_codec.h>
#include <freshet/repr/row.h>
#include <freshet/repr/type_codec.h>

#include "plan_tags.h"

namespace freshet::expr {

using repr::TypeKind;

void PlanWriter::type(const repr::SqlType& type) { repr::write_type(out_, type); }

void PlanWriter::column_type(const repr::ColumnType& column) { repr::write_column_type(out_, column); }

void PlanWriter::column_types(const std::vector<repr::ColumnType>& types) {
  out_.varint(types.size());
  for (const auto& column : types) column_type(column);
}

void PlanWriter::relation_type(const repr::RelationType& type) {
  column_types(type.columns);
  repr::write_keys(out_, type);
}

void PlanWriter::desc(const repr::RelationDesc& desc) { repr::write_desc(out_, desc); }

void PlanWriter::datum(const repr::Datum& datum, const repr::SqlType& type) {
  out_.boolean(!datum.is_null());
  if (datum.is_null()) return;
  if (type.kind() == TypeKind::kUnknown) return out_.bytes(datum.get<std::string>());
  out_.bytes(repr::RowCodec({type}).encode({datum}));
}

void PlanWriter::error(const Error& error) {
  out_.u8(static_cast<std::uint8_t>(error.code));
  out_.raw(error.sqlstate.view());
  out_.bytes(error.message);
  out_.bytes(error.detail);
  out_.bytes(error.hint);
  out_.svarint(error.position);
}

void PlanWriter::optional_error(const std::optional<Error>& error) {
  out_.boolean(error.has_value());
  if (error) this->error(*error);
}

void PlanWriter::positions(const std::vector<std::size_t>& columns) {
  out_.varint(columns.size());
  for (const std::size_t column : columns) out_.varint(column);
}

void PlanWriter::global_id(GlobalId id) { write_id(out_, id); }

void PlanWriter::any_id(const std::variant<GlobalId, LocalId>& id) {
  const auto* global = std::get_if<GlobalId>(&id);
  out_.boolean(global != nullptr);
  if (global != nullptr) return global_id(*global);
  out_.varint(std::get_if<LocalId>(&id)->number);
}

void PlanWriter::limit(const std::optional<std::uint64_t>& limit) {
  out_.boolean(limit.has_value());
  if (limit) out_.varint(*limit);
}

namespace {

struct ScalarWriter {
  PlanWriter& writer;
  base::ByteWriter& out;
  void tag(ScalarTag t) { out.u8(static_cast<std::uint8_t>(t)); }

  void operator()(const Scalar::Column& n) {
    tag(ScalarTag::kColumn);
    out.varint(n.index);
  }
  void operator()(const Scalar::Literal&) { tag(ScalarTag::kLiteral); }
  void operator()(const Scalar::Failure&) { tag(ScalarTag::kFailure); }
  void operator()(const Scalar::Call& n) {
    tag(ScalarTag::kCall);
    out.bytes(n.function->signature);
    writer.scalars(n.arguments);
  }
  void operator()(const Scalar::And& n) {
    tag(ScalarTag::kAnd);
    writer.scalars(n.arguments);
  }
  void operator()(const Scalar::Or& n) {
    tag(ScalarTag::kOr);
    writer.scalars(n.arguments);
  }
  void operator()(const Scalar::If& n) {
    tag(ScalarTag::kIf);
    writer.scalars(n.arguments);
  }
  void operator()(const Scalar::Coalesce& n) {
    tag(ScalarTag::kCoalesce);
    writer.scalars(n.arguments);
  }
  void operator()(const Scalar::IsNull& n) {
    tag(ScalarTag::kIsNull);
    writer.scalars(n.arguments);
  }
  void operator()(const Scalar::Parameter& n) {
    tag(ScalarTag::kParameter);
    out.varint(n.index);
  }
  void operator()(const Scalar::MzNow&) { tag(ScalarTag::kMzNow); }
  void operator()(const Scalar::SessionValue& n) {
    tag(ScalarTag::kSessionValue);
    out.bytes(n.name);
  }
};

}  // namespace

// After the node: its type, then what needs the type to be read.
void PlanWriter::scalar(const Scalar& scalar) {
  std::visit(ScalarWriter{*this, out_}, scalar.node());
  column_type(scalar.type());
  if (const auto* literal = scalar.as<Scalar::Literal>()) datum(literal->value, scalar.type().type);
  if (const auto* failure = scalar.as<Scalar::Failure>()) error(failure->error);
}

void PlanWriter::scalars(const std::vector<Scalar>& all) {
  out_.varint(all.size());
  for (const Scalar& s : all) scalar(s);
}

void PlanWriter::optional_scalar(const std::optional<Scalar>& s) {
  out_.boolean(s.has_value());
  if (s) scalar(*s);
}

void PlanWriter::mfp(const Mfp& mfp) {
  out_.varint(mfp.input_arity);
  scalars(mfp.expressions);
  scalars(mfp.predicates);
  positions(mfp.projection);
  scalars(mfp.lower_bounds);
  scalars(mfp.upper_bounds);
}

void PlanWriter::aggregate(const Aggregate& aggregate) {
  out_.bytes(aggregate.spec->signature);
  scalars(aggregate.arguments);
  out_.boolean(aggregate.distinct);
  optional_scalar(aggregate.filter);
  out_.varint(aggregate.order_by.size());
  for (const auto& by : aggregate.order_by) {
    scalar(by.expression);
    out_.boolean(by.descending);
    out_.boolean(by.nulls_last);
  }
}

void PlanWriter::aggregates(const std::vector<Aggregate>& all) {
  out_.varint(all.size());
  for (const Aggregate& a : all) aggregate(a);
}

void PlanWriter::equivalences(const std::vector<std::vector<Scalar>>& classes) {
  out_.varint(classes.size());
  for (const auto& members : classes) scalars(members);
}

void PlanWriter::order(const std::vector<ColumnOrder>& order) {
  out_.varint(order.size());
  for (const ColumnOrder& by : order) {
    out_.varint(by.column);
    out_.boolean(by.descending);
    out_.boolean(by.nulls_last);
  }
}

void PlanWriter::rows(const std::vector<std::pair<repr::DatumRow, repr::Diff>>& rows,
                      const std::vector<repr::ColumnType>& types) {
  std::vector<repr::SqlType> sql_types;
  for (const auto& column : types) sql_types.push_back(column.type);
  const repr::RowCodec codec(std::move(sql_types));
  out_.varint(rows.size());
  for (const auto& [row, diff] : rows) {
    out_.bytes(codec.encode(row));
    out_.svarint(diff);
  }
}

struct RelationWriter {
  PlanWriter& writer;
  const Relation& relation;
  base::ByteWriter& out = writer.out_;
  void tag(RelationTag t) { out.u8(static_cast<std::uint8_t>(t)); }
  void children() {
    for (const Relation& child : relation.children()) writer.relation(child);
  }

  void operator()(const Relation::Constant& n) {
    tag(RelationTag::kConstant);
    writer.relation_type(relation.type());
    writer.optional_error(n.error);
    writer.rows(n.rows, relation.type().columns);
  }
  void operator()(const Relation::Get& n) {
    tag(RelationTag::kGet);
    writer.relation_type(relation.type());
    writer.any_id(n.id);
  }
  void operator()(const Relation::Let& n) {
    tag(RelationTag::kLet);
    out.varint(n.id.number);
    children();
  }
  void operator()(const Relation::LetRec& n) {
    tag(RelationTag::kLetRec);
    out.varint(n.ids.size());
    for (const LocalId id : n.ids) out.varint(id.number);
    writer.limit(n.limit);
    out.boolean(n.return_at_limit);
    children();
  }
  void operator()(const Relation::Project& n) {
    tag(RelationTag::kProject);
    children();
    writer.positions(n.columns);
  }
  void operator()(const Relation::Map& n) {
    tag(RelationTag::kMap);
    children();
    writer.scalars(n.expressions);
  }
  void operator()(const Relation::Filter& n) {
    tag(RelationTag::kFilter);
    children();
    writer.scalars(n.predicates);
  }
  void operator()(const Relation::FlatMap& n) {
    tag(RelationTag::kFlatMap);
    children();
    out.bytes(n.function->signature);
    writer.scalars(n.arguments);
    out.boolean(n.with_ordinality);
  }
  void operator()(const Relation::Join& n) {
    tag(RelationTag::kJoin);
    out.varint(n.inputs.size());
    children();
    writer.equivalences(n.equivalences);
  }
  void operator()(const Relation::Match& n) {
    tag(RelationTag::kMatch);
    out.u8(static_cast<std::uint8_t>(n.kind));
    children();
    writer.scalars(n.on);
  }
  void operator()(const Relation::Reduce& n) {
    tag(RelationTag::kReduce);
    children();
    writer.scalars(n.group_key);
    writer.aggregates(n.aggregates);
  }
  void operator()(const Relation::TopK& n) {
    tag(RelationTag::kTopK);
    children();
    writer.positions(n.group_key);
    writer.order(n.order);
    writer.optional_scalar(n.limit);
    out.varint(n.offset);
  }
  void operator()(const Relation::Negate&) {
    tag(RelationTag::kNegate);
    children();
  }
  void operator()(const Relation::Threshold&) {
    tag(RelationTag::kThreshold);
    children();
  }
  void operator()(const Relation::Union& n) {
    tag(RelationTag::kUnion);
    out.varint(n.inputs.size());
    children();
  }
};

void PlanWriter::relation(const Relation& relation) {
  std::visit(RelationWriter{*this, relation}, relation.node());
}

namespace {

template <typename T>
base::Bytes versioned(const T& write) {
  PlanWriter writer;
  writer.out().u8(kPlanFormat);
  write(writer);
  return writer.out().take();
}

}  // namespace

base::Bytes encode(const Scalar& scalar) {
  return versioned([&](PlanWriter& w) { w.scalar(scalar); });
}
base::Bytes encode(const Mfp& mfp) {
  return versioned([&](PlanWriter& w) { w.mfp(mfp); });
}
base::Bytes encode(const Relation& relation) {
  return versioned([&](PlanWriter& w) { w.relation(relation); });
}
base::Bytes encode(const Lir& lir) {
  return versioned([&](PlanWriter& w) { w.lir(lir); });
}
base::Bytes encode(const DataflowDescription& dataflow) {
  return versioned([&](PlanWriter& w) { w.dataflow(dataflow); });
}

}  // namespace freshet::expr
