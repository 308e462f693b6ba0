// SPDX-License-Identifier: Apache-2.0
// The only file that sees Cap'n Proto. Its accessors throw late, so messages are read fully into structs
// here, and kj's exceptions end here.
#include <freshet/compute_api/codec.h>

#include <cstring>
#include <optional>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <freshet/expr/codec.h>

#include "compute_api.capnp.h"

namespace freshet::compute_api {
namespace {

kj::ArrayPtr<const kj::byte> as_data(std::string_view bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}
std::string_view view(capnp::Data::Reader reader) {
  return {reinterpret_cast<const char*>(reader.begin()), reader.size()};
}

// -- pieces --------------------------------------------------------------------------------------

void write(wire::GlobalId::Builder out, GlobalId id) {
  out.setKind(static_cast<std::uint8_t>(id.kind));
  out.setNumber(id.number);
}
Result<GlobalId> read(wire::GlobalId::Reader in) {
  const GlobalId id{static_cast<GlobalId::Kind>(in.getKind()), in.getNumber()};
  using Kind = GlobalId::Kind;
  if (id.kind != Kind::kSystem && id.kind != Kind::kUser && id.kind != Kind::kTransient) {
    return fail(ErrorCode::kInvalid, "unknown kind of id");
  }
  return id;
}

void write(wire::PeekId::Builder out, const PeekId& id) {
  out.setFirst(id[0]);
  out.setSecond(id[1]);
}
PeekId read(wire::PeekId::Reader in) { return {in.getFirst(), in.getSecond()}; }

void write(wire::InstanceConfig::Builder out, const InstanceConfig& config) {
  out.setWorkers(config.workers);
  out.setMaxResultBytes(config.max_result_bytes);
}
InstanceConfig read(wire::InstanceConfig::Reader in) {
  return {.workers = in.getWorkers(), .max_result_bytes = in.getMaxResultBytes()};
}

void write(wire::IdTime::Builder out, GlobalId id, SqlTime time) {
  write(out.initId(), id);
  out.setTime(time);
}

void write(wire::Error::Builder out, const Error& error) {
  out.setCode(static_cast<std::uint8_t>(error.code));
  out.setSqlstate(as_data(error.sqlstate.view()));
  out.setMessage(as_data(error.message));
  out.setDetail(as_data(error.detail));
  out.setHint(as_data(error.hint));
  out.setPosition(error.position);
}
Result<Error> read(wire::Error::Reader in) {
  if (in.getCode() > static_cast<std::uint8_t>(ErrorCode::kExhausted)) {
    return fail(ErrorCode::kInvalid, "unknown error code");
  }
  return Error{.code = static_cast<ErrorCode>(in.getCode()),
               .sqlstate = SqlState::from(view(in.getSqlstate())),
               .message = std::string(view(in.getMessage())),
               .detail = std::string(view(in.getDetail())),
               .hint = std::string(view(in.getHint())),
               .position = in.getPosition()};
}

void write(wire::Rows::Builder out, const repr::BytesVector& rows, const std::vector<SqlTime>& times,
           const std::vector<Diff>& diffs) {
  out.setBytes(as_data(rows.bytes()));
  auto ends = out.initEnds(static_cast<unsigned>(rows.size()));
  for (unsigned i = 0; i < rows.size(); ++i) ends.set(i, rows.offsets()[i + 1]);
  auto out_times = out.initTimes(static_cast<unsigned>(times.size()));
  for (unsigned i = 0; i < times.size(); ++i) out_times.set(i, times[i]);
  auto out_diffs = out.initDiffs(static_cast<unsigned>(diffs.size()));
  for (unsigned i = 0; i < diffs.size(); ++i) out_diffs.set(i, diffs[i]);
}
Result<void> read(wire::Rows::Reader in, repr::BytesVector& rows, std::vector<SqlTime>& times,
                  std::vector<Diff>& diffs) {
  const std::string_view bytes = view(in.getBytes());
  std::uint32_t begin = 0;
  for (const std::uint32_t end : in.getEnds()) {
    if (end < begin || end > bytes.size()) return fail(ErrorCode::kInvalid, "row ends out of order");
    rows.push_back(bytes.substr(begin, end - begin));
    begin = end;
  }
  for (const std::uint64_t time : in.getTimes()) times.push_back(time);
  for (const std::int64_t diff : in.getDiffs()) diffs.push_back(diff);
  return {};
}

// Datums do not know their types; the kind of value is enough to bring them back.
void write_datum(base::ByteWriter& out, const repr::Datum& datum);

struct DatumWriter {
  base::ByteWriter& out;
  void operator()(std::monostate) const {}
  void operator()(bool v) const { out.boolean(v); }
  void operator()(std::int16_t v) const { out.svarint(v); }
  void operator()(std::int32_t v) const { out.svarint(v); }
  void operator()(std::int64_t v) const { out.svarint(v); }
  void operator()(float v) const { out.u32(std::bit_cast<std::uint32_t>(v)); }
  void operator()(double v) const { out.f64(v); }
  void operator()(const repr::Numeric& v) const { out.bytes(v.to_string()); }
  void operator()(const repr::Interval& v) const {
    out.svarint(v.months);
    out.svarint(v.days);
    out.svarint(v.micros);
  }
  void operator()(const repr::Uuid& v) const {
    for (const std::uint8_t byte : v) out.u8(byte);
  }
  void operator()(const std::string& v) const { out.bytes(v); }
  void operator()(const std::shared_ptr<const repr::ArrayValue>& v) const {
    out.varint(v->dimensions.size());
    for (const auto& dimension : v->dimensions) {
      out.svarint(dimension.lower);
      out.svarint(dimension.length);
    }
    out.varint(v->elements.size());
    for (const repr::Datum& element : v->elements) write_datum(out, element);
  }
};

void write_datum(base::ByteWriter& out, const repr::Datum& datum) {
  out.u8(static_cast<std::uint8_t>(datum.value().index()));
  std::visit(DatumWriter{out}, datum.value());
}

base::Bytes encode_datums(const repr::DatumRow& row) {
  base::ByteWriter out;
  out.varint(row.size());
  for (const repr::Datum& datum : row) write_datum(out, datum);
  return out.take();
}

constexpr int kMostNested = 8;

Result<repr::Datum> read_datum(base::ByteReader& in, int depth);

Result<repr::Datum> read_array(base::ByteReader& in, int depth) {
  if (depth >= kMostNested) return fail(ErrorCode::kInvalid, "array nested too deeply");
  auto array = std::make_shared<repr::ArrayValue>();
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    const auto lower = static_cast<std::int32_t>(in.svarint());
    array->dimensions.push_back({lower, static_cast<std::int32_t>(in.svarint())});
  }
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    array->elements.push_back(FRESHET_TRY(read_datum(in, depth + 1)));
  }
  return repr::Datum(std::shared_ptr<const repr::ArrayValue>(std::move(array)));
}

repr::Uuid read_uuid(base::ByteReader& in) {
  repr::Uuid uuid{};
  for (std::uint8_t& byte : uuid) byte = in.u8();
  return uuid;
}

repr::Interval read_interval(base::ByteReader& in) {
  repr::Interval interval;
  interval.months = static_cast<std::int32_t>(in.svarint());
  interval.days = static_cast<std::int32_t>(in.svarint());
  interval.micros = in.svarint();
  return interval;
}

Result<repr::Datum> read_datum(base::ByteReader& in, int depth) {
  using repr::Datum;
  switch (in.u8()) {
    case 0: return Datum();
    case 1: return Datum(in.boolean());
    case 2: return Datum(static_cast<std::int16_t>(in.svarint()));
    case 3: return Datum(static_cast<std::int32_t>(in.svarint()));
    case 4: return Datum(in.svarint());
    case 5: return Datum(std::bit_cast<float>(in.u32()));
    case 6: return Datum(in.f64());
    case 7: return Datum(FRESHET_TRY(repr::Numeric::parse(in.bytes())));
    case 8: return Datum(read_interval(in));
    case 9: return Datum(read_uuid(in));
    case 10: return Datum(std::string(in.bytes()));
    case 11: return read_array(in, depth);
    default: return fail(ErrorCode::kInvalid, "unknown kind of datum");
  }
}

Result<repr::DatumRow> decode_datums(std::string_view bytes) {
  base::ByteReader in(bytes);
  repr::DatumRow row;
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) row.push_back(FRESHET_TRY(read_datum(in, 0)));
  if (!in.ok() || !in.at_end()) return fail(ErrorCode::kInvalid, "malformed row of datums");
  return row;
}

void write(wire::Peek::Builder out, const Peek& peek) {
  write(out.initId(), peek.id);
  if (const auto* index = std::get_if<Peek::Index>(&peek.target)) {
    auto target = out.getTarget().initIndex();
    write(target.initId(), index->id);
    if (index->seek) {
      auto keys = target.getSeek().initKeys(static_cast<unsigned>(index->seek->size()));
      for (unsigned i = 0; i < index->seek->size(); ++i) {
        keys.set(i, as_data(encode_datums((*index->seek)[i])));
      }
    } else {
      target.getSeek().setAll();
    }
  } else {
    const auto& collection = std::get<Peek::Collection>(peek.target);
    auto target = out.getTarget().initCollection();
    write(target.initId(), collection.id);
    // A relation without rows carries its type.
    target.setType(as_data(expr::encode(expr::Relation::get(collection.id, collection.desc.type))));
    auto names = target.initNames(static_cast<unsigned>(collection.desc.names.size()));
    for (unsigned i = 0; i < names.size(); ++i) names.set(i, as_data(collection.desc.names[i]));
  }
  out.setTime(peek.time);
  out.setMfp(as_data(expr::encode(peek.mfp)));
  auto order = out.initOrder(static_cast<unsigned>(peek.order.size()));
  for (unsigned i = 0; i < peek.order.size(); ++i) {
    order[i].setColumn(peek.order[i].column);
    order[i].setDescending(peek.order[i].descending);
    order[i].setNullsLast(peek.order[i].nulls_last);
  }
  if (peek.limit) {
    out.getLimit().setRows(*peek.limit);
  } else {
    out.getLimit().setNone();
  }
}
Result<std::variant<Peek::Index, Peek::Collection>> read_target(wire::Peek::Target::Reader in) {
  if (in.isIndex()) {
    const auto target = in.getIndex();
    Peek::Index index{.id = FRESHET_TRY(read(target.getId()))};
    if (target.getSeek().isKeys()) {
      index.seek.emplace();
      for (const auto key : target.getSeek().getKeys()) {
        index.seek->push_back(FRESHET_TRY(decode_datums(view(key))));
      }
    }
    return std::variant<Peek::Index, Peek::Collection>(std::move(index));
  }
  const auto target = in.getCollection();
  Peek::Collection collection{.id = FRESHET_TRY(read(target.getId()))};
  collection.desc.type = FRESHET_TRY(expr::decode_relation(view(target.getType()))).type();
  for (const auto name : target.getNames()) collection.desc.names.emplace_back(view(name));
  if (collection.desc.names.size() != collection.desc.type.arity()) {
    return fail(ErrorCode::kInvalid, "names do not fit the columns");
  }
  return std::variant<Peek::Index, Peek::Collection>(std::move(collection));
}
Result<Peek> read(wire::Peek::Reader in) {
  auto target = FRESHET_TRY(read_target(in.getTarget()));
  expr::Mfp mfp = FRESHET_TRY(expr::decode_mfp(view(in.getMfp())));
  Peek peek{.id = read(in.getId()), .target = std::move(target), .time = in.getTime(), .mfp = std::move(mfp)};
  for (const auto order : in.getOrder()) {
    peek.order.push_back({.column = order.getColumn(),
                          .descending = order.getDescending(),
                          .nulls_last = order.getNullsLast()});
  }
  if (in.getLimit().isRows()) peek.limit = in.getLimit().getRows();
  return peek;
}

// -- commands ------------------------------------------------------------------------------------

struct CommandWriter {
  wire::Command::Builder out;
  void operator()(const Hello& c) { write(out.initHello(), c.nonce); }
  void operator()(const CreateInstance& c) { write(out.initCreateInstance(), c.config); }
  void operator()(const InitializationComplete&) { out.setInitializationComplete(); }
  void operator()(const UpdateConfiguration& c) { write(out.initUpdateConfiguration(), c.config); }
  void operator()(const CreateDataflow& c) {
    out.setCreateDataflow(as_data(expr::encode(c.dataflow)));
  }
  void operator()(const Schedule& c) { write(out.initSchedule(), c.id); }
  void operator()(const AllowWrites& c) { write(out.initAllowWrites(), c.id); }
  void operator()(const AllowCompaction& c) { write(out.initAllowCompaction(), c.id, c.since); }
  void operator()(const Peek& c) { write(out.initPeek(), c); }
  void operator()(const CancelPeek& c) { write(out.initCancelPeek(), c.id); }
  void operator()(const Advance& c) { write(out.initAdvance(), c.id, c.time); }
};

Result<ComputeCommand> read(wire::Command::Reader in) {
  switch (in.which()) {
    case wire::Command::HELLO: return ComputeCommand(Hello{read(in.getHello())});
    case wire::Command::CREATE_INSTANCE: return ComputeCommand(CreateInstance{read(in.getCreateInstance())});
    case wire::Command::INITIALIZATION_COMPLETE: return ComputeCommand(InitializationComplete{});
    case wire::Command::UPDATE_CONFIGURATION:
      return ComputeCommand(UpdateConfiguration{read(in.getUpdateConfiguration())});
    case wire::Command::CREATE_DATAFLOW:
      return ComputeCommand(CreateDataflow{FRESHET_TRY(expr::decode_dataflow(view(in.getCreateDataflow())))});
    case wire::Command::SCHEDULE: return ComputeCommand(Schedule{FRESHET_TRY(read(in.getSchedule()))});
    case wire::Command::ALLOW_WRITES: return ComputeCommand(AllowWrites{FRESHET_TRY(read(in.getAllowWrites()))});
    case wire::Command::ALLOW_COMPACTION:
      return ComputeCommand(AllowCompaction{FRESHET_TRY(read(in.getAllowCompaction().getId())),
                                            in.getAllowCompaction().getTime()});
    case wire::Command::PEEK: return ComputeCommand(FRESHET_TRY(read(in.getPeek())));
    case wire::Command::CANCEL_PEEK: return ComputeCommand(CancelPeek{read(in.getCancelPeek())});
    case wire::Command::ADVANCE:
      return ComputeCommand(Advance{FRESHET_TRY(read(in.getAdvance().getId())), in.getAdvance().getTime()});
  }
  return fail(ErrorCode::kInvalid, "unknown compute command");
}

// -- responses -----------------------------------------------------------------------------------

struct ResponseWriter {
  wire::Response::Builder out;
  void operator()(const FrontierUpdate& r) { write(out.initFrontier(), r.id, r.upper); }
  void operator()(const PeekResponse& r) {
    auto peek = out.initPeek();
    write(peek.initId(), r.id);
    write(peek.initRows(), r.rows, {}, r.diffs);
    if (r.error) write(peek.getError().initSome(), *r.error);
    peek.setLast(r.last);
  }
  void operator()(const SubscribeResponse& r) {
    auto subscribe = out.initSubscribe();
    write(subscribe.initId(), r.id);
    subscribe.setLower(r.lower);
    subscribe.setUpper(r.upper);
    write(subscribe.initRows(), r.rows, r.times, r.diffs);
    if (r.error) write(subscribe.getError().initSome(), *r.error);
  }
  void operator()(const ExportFailure& r) {
    auto failure = out.initFailure();
    write(failure.initId(), r.id);
    write(failure.initError(), r.error);
  }
  void operator()(const Dropped& r) { write(out.initDropped(), r.id); }
};

Result<PeekResponse> read(wire::PeekResponse::Reader in) {
  PeekResponse r{.id = read(in.getId()), .last = in.getLast()};
  std::vector<SqlTime> times;
  FRESHET_TRY(read(in.getRows(), r.rows, times, r.diffs));
  if (!r.diffs.empty() && r.diffs.size() != r.rows.size()) return fail(ErrorCode::kInvalid, "diffs do not fit");
  if (in.getError().isSome()) r.error = FRESHET_TRY(read(in.getError().getSome()));
  return r;
}
Result<SubscribeResponse> read(wire::SubscribeResponse::Reader in) {
  SubscribeResponse r{.id = FRESHET_TRY(read(in.getId())), .lower = in.getLower(), .upper = in.getUpper()};
  FRESHET_TRY(read(in.getRows(), r.rows, r.times, r.diffs));
  if (r.times.size() != r.rows.size() || r.diffs.size() != r.rows.size()) {
    return fail(ErrorCode::kInvalid, "times or diffs do not fit");
  }
  if (in.getError().isSome()) r.error = FRESHET_TRY(read(in.getError().getSome()));
  return r;
}
Result<ComputeResponse> read(wire::Response::Reader in) {
  switch (in.which()) {
    case wire::Response::FRONTIER:
      return ComputeResponse(FrontierUpdate{FRESHET_TRY(read(in.getFrontier().getId())), in.getFrontier().getTime()});
    case wire::Response::PEEK: return ComputeResponse(FRESHET_TRY(read(in.getPeek())));
    case wire::Response::SUBSCRIBE: return ComputeResponse(FRESHET_TRY(read(in.getSubscribe())));
    case wire::Response::FAILURE: {
      const GlobalId id = FRESHET_TRY(read(in.getFailure().getId()));
      Error error = FRESHET_TRY(read(in.getFailure().getError()));
      return ComputeResponse(ExportFailure{id, std::move(error)});
    }
    case wire::Response::DROPPED: return ComputeResponse(Dropped{FRESHET_TRY(read(in.getDropped()))});
  }
  return fail(ErrorCode::kInvalid, "unknown compute response");
}

// -- bytes ---------------------------------------------------------------------------------------

template <typename Root, typename Writer, typename Variant>
base::Bytes to_bytes(const Variant& message) {
  capnp::MallocMessageBuilder builder;
  std::visit(Writer{builder.initRoot<Root>()}, message);
  const kj::Array<capnp::word> words = capnp::messageToFlatArray(builder);
  const auto bytes = words.asBytes();
  return base::Bytes(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
}

template <typename Root, typename T>
Result<T> from_bytes(base::BytesView bytes) {
  // Words must be aligned, which the caller's bytes need not be.
  const std::size_t size = bytes.size() / sizeof(capnp::word);
  if (size * sizeof(capnp::word) != bytes.size()) return fail(ErrorCode::kInvalid, "a partial message");
  std::vector<capnp::word> words(size);
  if (size > 0) std::memcpy(words.data(), bytes.data(), bytes.size());
  std::optional<Result<T>> result;
  const auto exception = kj::runCatchingExceptions([&] {
    capnp::ReaderOptions options;
    options.traversalLimitInWords = 8 * size + 1024;
    capnp::FlatArrayMessageReader reader({words.data(), words.size()}, options);
    result.emplace(read(reader.getRoot<Root>()));
  });
  KJ_IF_MAYBE(e, exception) {
    return fail(ErrorCode::kInvalid, std::string("malformed message: ") + e->getDescription().cStr());
  }
  return std::move(*result);
}

}  // namespace

base::Bytes encode(const ComputeCommand& command) {
  return to_bytes<wire::Command, CommandWriter>(command);
}
base::Bytes encode(const ComputeResponse& response) {
  return to_bytes<wire::Response, ResponseWriter>(response);
}
Result<ComputeCommand> decode_command(base::BytesView bytes) {
  return from_bytes<wire::Command, ComputeCommand>(bytes);
}
Result<ComputeResponse> decode_response(base::BytesView bytes) {
  return from_bytes<wire::Response, ComputeResponse>(bytes);
}

}  // namespace freshet::compute_api
