// SPDX-License-Identifier: Apache-2.0
#include "dataflow/build_flow.h"

#include <set>

#include "dataflow/read_operator.h"
#include "dataflow/render.h"
#include "dataflow/sink_operators.h"
#include "dataflow/source_operator.h"

namespace freshet::compute {
namespace {

using expr::GlobalId;
using expr::Lir;

struct Builder {
  const expr::DataflowDescription& description;
  const std::map<GlobalId, std::shared_ptr<IndexTraces>>& imported;
  const FlowCallbacks& callbacks;
  FlowOptions options;
  BuiltFlow& flow;
  Renderer<SqlTime>& renderer;
  timely::Scope<SqlTime>& scope;

  void import_source(GlobalId id, const expr::SourceImport& import, const std::vector<std::size_t>& wanted);
  void import_index(GlobalId id, const expr::IndexImport& import, std::map<GlobalId, Bundle<SqlTime>>& bundles);
  void export_index(GlobalId id, const expr::IndexExport& index);
  void export_sink(GlobalId id, const expr::SinkExport& sink);
  [[nodiscard]] UpperListener listener(GlobalId id) const {
    return [on_upper = callbacks.on_upper, id, until = description.until](SqlTime upper) {
      on_upper(id, upper >= until ? repr::kClosed : upper);
    };
  }
};

void Builder::import_source(GlobalId id, const expr::SourceImport& import, const std::vector<std::size_t>& wanted) {
  const auto queue = std::make_shared<SourceQueue>([on_room = callbacks.on_room, id] { on_room(id); });
  flow.queues.emplace(id, queue);
  const SourceSpan span{description.as_of, description.until};
  // One worker reads; which one depends on the id, so that sources spread.
  const std::size_t reader = static_cast<std::size_t>(id.number % scope.width());
  timely::OperatorBuilder<SqlTime> builder(scope, "Source " + expr::to_string(id));
  const auto oks = builder.output<SourceSlice>();
  const auto errs = builder.output<ErrorUpdates<SqlTime>>();
  builder.initial_capabilities();
  timely::detail::build_stepper(
      builder,
      [queue, span, reader, types = import.desc.type.columns,
       fail = callbacks.on_failure](timely::Setup<SqlTime>& setup) {
        return SourceOperator(setup, setup.worker() == reader ? queue : nullptr, span, types, fail);
      },
      oks.first, errs.first);
  const auto& columns = import.desc.type.columns;
  const auto rows = oks.second.unary(
      "Decode", timely::Exchange{DealSlices{}},
      [types = sql_types(columns), wanted, span, fail = callbacks.on_failure] {
        return DecodeSlices(types, wanted, span, fail);
      },
      timely::FrontierInterest::kNever);
  renderer.bind(id, {.types = columns, .oks = rows, .errs = errs.second});
}

void Builder::import_index(GlobalId id, const expr::IndexImport& import,
                           std::map<GlobalId, Bundle<SqlTime>>& bundles) {
  const IndexTraces& traces = *imported.at(id);
  const timely::Antichain<SqlTime> as_of{description.as_of};
  const auto oks = traces.oks.import(scope, as_of);
  const auto errs = convert<ErrorUpdates<SqlTime>>(
      traces.errs.import(scope, as_of).stream(), "IndexErrors",
      [from = description.as_of](RowBatches<SqlTime> list) {
        ErrorUpdates<SqlTime> result;
        for (const auto& batch : list.batches) {
          differential::BatchCursor<std::string, std::string, SqlTime, Diff> cursor(*batch);
          for (; cursor.key_valid(); cursor.step_key()) {
            for (; cursor.val_valid(); cursor.step_val()) {
              cursor.map_times([&](const SqlTime& time, const Diff& diff) {
                result.push_back({std::string(cursor.val()), std::max(time, from), diff});
              });
            }
          }
        }
        return result;
      });
  const auto bundle = bundles.try_emplace(import.on, Bundle<SqlTime>{.types = import.type.columns, .errs = errs}).first;
  bundle->second.made->arrangements.push_back({.arranger = traces.arranger, .oks = oks, .errs = errs});
}

void Builder::export_index(GlobalId id, const expr::IndexExport& index) {
  Bundle<SqlTime>& bundle = renderer.lookup(index.on);
  BundleArrangement<SqlTime>& rows = renderer.arrange(bundle, index.key);
  const auto keyed = rows.errs.unary(
      "KeyErrors", timely::Pipeline{},
      [key = index.key, types = bundle.types] { return ArrangeErrors(key, types); },
      timely::FrontierInterest::kNever);
  const auto errs = differential::arrange<differential::RowTrace<SqlTime>>(keyed, "index errors", options.block_bytes);
  flow.indexes.emplace(id, std::make_shared<IndexTraces>(
                               IndexTraces{rows.arranger, rows.oks.trace(), errs.trace()}));
  using Batches = RowBatches<SqlTime>;
  timely::OperatorBuilder<SqlTime> builder(scope, "Index " + expr::to_string(id));
  const auto in1 = builder.input(rows.oks.stream(), timely::Pipeline{});
  const auto in2 = builder.input(errs.stream(), timely::Pipeline{});
  timely::detail::build_stepper(
      builder,
      [report = listener(id)](timely::Setup<SqlTime>& setup) {
        return WatchOperator<Batches, Batches>(UpperReporter(setup.worker() == 0, report));
      },
      in1, in2);
}

void Builder::export_sink(GlobalId id, const expr::SinkExport& sink) {
  Bundle<SqlTime>& bundle = renderer.lookup(sink.from);
  const auto collector = std::make_shared<Collector>();
  flow.collectors.emplace(id, collector);
  timely::OperatorBuilder<SqlTime> builder(scope, "Sink " + expr::to_string(id));
  const auto oks = builder.input(renderer.stream(bundle), timely::Pipeline{});
  const auto errs = builder.input(bundle.errs, timely::Pipeline{});
  timely::detail::build_stepper(
      builder,
      [collector, types = bundle.types, report = listener(id)](timely::Setup<SqlTime>& setup) {
        return CollectOperator(collector, types, UpperReporter(setup.worker() == 0, report));
      },
      oks, errs);
}

// -- what sources must decode --------------------------------------------------------------------

void children(const Lir& lir, const std::function<void(const Lir&)>& f) {
  struct Visitor {
    const std::function<void(const Lir&)>& f;
    void operator()(const Lir::Constant&) const {}
    void operator()(const Lir::Get&) const {}
    void operator()(const Lir::Let& n) const { f(*n.value), f(*n.body); }
    void operator()(const Lir::LetRec& n) const {
      for (const auto& value : n.values) f(*value);
      f(*n.body);
    }
    void operator()(const Lir::MapFilterProject& n) const { f(*n.input); }
    void operator()(const Lir::FlatMap& n) const { f(*n.input); }
    void operator()(const Lir::Join& n) const {
      for (const auto& input : n.inputs) f(*input);
    }
    void operator()(const Lir::Match& n) const { f(*n.left), f(*n.right); }
    void operator()(const Lir::Reduce& n) const { f(*n.input); }
    void operator()(const Lir::TopK& n) const { f(*n.input); }
    void operator()(const Lir::Negate& n) const { f(*n.input); }
    void operator()(const Lir::Threshold& n) const { f(*n.input); }
    void operator()(const Lir::Union& n) const {
      for (const auto& input : n.inputs) f(*input);
    }
    void operator()(const Lir::ArrangeBy& n) const { f(*n.input); }
  };
  std::visit(Visitor{f}, lir.node);
}

}  // namespace

std::map<GlobalId, std::vector<std::size_t>> source_demand(const expr::DataflowDescription& description) {
  std::map<GlobalId, std::set<std::size_t>> wanted;
  std::function<void(const Lir&)> visit = [&](const Lir& lir) {
    if (const auto* get = std::get_if<Lir::Get>(&lir.node)) {
      const auto* id = std::get_if<GlobalId>(&get->id);
      if (id == nullptr || !description.sources.contains(*id)) return;
      const std::vector<std::size_t> demand = get->mfp.demand();
      wanted[*id].insert(demand.begin(), demand.end());
      if (get->key) {
        for (const expr::Scalar& scalar : *get->key) wanted[*id].merge(scalar.columns());
      }
      return;
    }
    children(lir, visit);
  };
  for (const expr::ObjectPlan& object : description.objects) visit(*object.lir);
  const auto want_all = [&](GlobalId id) {
    const auto source = description.sources.find(id);
    if (source == description.sources.end()) return;
    for (std::size_t c = 0; c < source->second.desc.arity(); ++c) wanted[id].insert(c);
  };
  for (const auto& [id, index] : description.index_exports) want_all(index.on);
  for (const auto& [id, sink] : description.sink_exports) want_all(sink.from);
  std::map<GlobalId, std::vector<std::size_t>> result;
  for (const auto& [id, source] : description.sources) {
    result[id].assign(wanted[id].begin(), wanted[id].end());
  }
  return result;
}

BuiltFlow build_flow(timely::Runtime& runtime, const expr::DataflowDescription& description,
                     const std::map<GlobalId, std::shared_ptr<IndexTraces>>& imported,
                     const FlowCallbacks& callbacks, FlowOptions options) {
  BuiltFlow flow;
  const auto demand = source_demand(description);
  flow.dataflow = runtime.dataflow<SqlTime>(
      {.name = description.name}, [&](timely::Scope<SqlTime>& scope) {
        Renderer<SqlTime> renderer(scope,
                                   {.as_of = description.as_of,
                                    .until = description.until,
                                    .block_bytes = options.block_bytes,
                                    .futures = flow.futures},
                                   nullptr);
        Builder builder{description, imported, callbacks, options, flow, renderer, scope};
        for (const auto& [id, source] : description.sources) builder.import_source(id, source, demand.at(id));
        std::map<GlobalId, Bundle<SqlTime>> bundles;
        for (const auto& [id, index] : description.indexes) builder.import_index(id, index, bundles);
        for (auto& [id, bundle] : bundles) renderer.bind(id, std::move(bundle));
        for (const expr::ObjectPlan& object : description.objects) {
          renderer.bind(object.id, renderer.render(object.lir));
        }
        for (const auto& [id, index] : description.index_exports) builder.export_index(id, index);
        for (const auto& [id, sink] : description.sink_exports) builder.export_sink(id, sink);
      });
  return flow;
}

}  // namespace freshet::compute
