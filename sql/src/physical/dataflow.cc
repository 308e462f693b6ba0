// SPDX-License-Identifier: Apache-2.0
// Dataflow descriptions: views inlined, plans made, imports collected.
#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/text.h>

#include "optimize/rewrite.h"
#include "physical/lowering.h"

namespace freshet::sql {

using expr::DataflowDescription;
using expr::GlobalId;
using expr::Lir;
using expr::LocalId;
using expr::Relation;

namespace {

/// Gives the locals of a plan numbers that no other plan has.
class Renumbering {
 public:
  explicit Renumbering(std::uint64_t& next) : next_(next) {}
  Relation run(const Relation& relation) {
    if (const auto* get = relation.as<Relation::Get>()) {
      const auto* local = std::get_if<LocalId>(&get->id);
      return local == nullptr ? relation : Relation::get(map(*local), relation.type());
    }
    std::vector<Relation> children;
    for (const Relation& child : relation.children()) children.push_back(run(child));
    if (const auto* let = relation.as<Relation::Let>()) {
      return Relation::let(map(let->id), std::move(children[0]), std::move(children[1]));
    }
    if (const auto* rec = relation.as<Relation::LetRec>()) {
      std::vector<LocalId> ids;
      for (const LocalId id : rec->ids) ids.push_back(map(id));
      Relation body = std::move(children.back());
      children.pop_back();
      return Relation::let_rec(std::move(ids), std::move(children), std::move(body), rec->limit,
                               rec->return_at_limit);
    }
    return children.empty() ? relation : relation.with_children(std::move(children));
  }

 private:
  LocalId map(LocalId id) {
    const auto [place, is_new] = ids_.try_emplace(id, LocalId{next_});
    if (is_new) ++next_;
    return place->second;
  }
  std::uint64_t& next_;
  std::map<LocalId, LocalId> ids_;
};

/// Reads of a view become reads of a local bound to its definition, once for each view.
class ViewInliner {
 public:
  explicit ViewInliner(const std::map<GlobalId, Relation>& views) : views_(views) {}

  Result<Relation> run(const Relation& relation) {
    Relation body = Renumbering(next_).run(relation);
    for (const GlobalId id : relation.global_ids()) {
      if (auto bound = bind(id, 0); !bound) return fail(bound.error());
    }
    body = replace(body);
    for (auto binding = bindings_.rbegin(); binding != bindings_.rend(); ++binding) {
      body = Relation::let(binding->first, binding->second, std::move(body));
    }
    return body;
  }

 private:
  Result<void> bind(GlobalId id, std::size_t depth) {
    const auto view = views_.find(id);
    if (view == views_.end() || locals_.contains(id)) return {};
    if (depth > 500) return fail(sqlstate::kStatementTooComplex, "views are nested too deep");
    for (const GlobalId below : view->second.global_ids()) {
      if (auto bound = bind(below, depth + 1); !bound) return bound;
    }
    const Relation value = replace(Renumbering(next_).run(view->second));
    const LocalId local{next_++};
    locals_.emplace(id, local);
    bindings_.emplace_back(local, value);
    return {};
  }

  Relation replace(const Relation& relation) const {
    return relation.transform([&](Relation r) {
      const auto* get = r.as<Relation::Get>();
      const auto* global = get == nullptr ? nullptr : std::get_if<GlobalId>(&get->id);
      if (global == nullptr || !locals_.contains(*global)) return r;
      return Relation::get(locals_.at(*global), r.type());
    });
  }

  const std::map<GlobalId, Relation>& views_;
  std::uint64_t next_ = 0;
  std::map<GlobalId, LocalId> locals_;
  std::vector<std::pair<LocalId, Relation>> bindings_;
};

/// The collections that a plan streams, and the arrangements that it uses.
struct Reads {
  std::set<GlobalId> streams;
  std::map<GlobalId, std::vector<expr::ArrangementKey>> arrangements;
};

void collect(const Lir& lir, Reads& reads) {
  const auto below = [&](const expr::LirPtr& input) { collect(*input, reads); };
  std::visit(
      [&](const auto& n) {
        using T = std::decay_t<decltype(n)>;
        if constexpr (std::is_same_v<T, Lir::Get>) {
          const auto* id = std::get_if<GlobalId>(&n.id);
          if (id == nullptr) return;
          if (n.key) reads.arrangements[*id].push_back(*n.key);
          else reads.streams.insert(*id);
        } else if constexpr (std::is_same_v<T, Lir::Let>) {
          below(n.value);
          below(n.body);
        } else if constexpr (std::is_same_v<T, Lir::LetRec>) {
          for (const auto& value : n.values) below(value);
          below(n.body);
        } else if constexpr (std::is_same_v<T, Lir::Join> || std::is_same_v<T, Lir::Union>) {
          for (const auto& input : n.inputs) below(input);
        } else if constexpr (std::is_same_v<T, Lir::Match>) {
          below(n.left);
          below(n.right);
        } else if constexpr (std::is_same_v<T, Lir::ArrangeBy>) {
          // Several arrangements of an indexed collection: each key that an index has is its index.
          const auto* get = std::get_if<Lir::Get>(&n.input->node);
          const auto* id = get == nullptr ? nullptr : std::get_if<GlobalId>(&get->id);
          if (id != nullptr && get->key) {
            for (const auto& key : n.keys) reads.arrangements[*id].push_back(key);
          }
          below(n.input);
        } else if constexpr (!std::is_same_v<T, Lir::Constant>) {
          below(n.input);
        }
      },
      lir.node);
}

/// Imports for everything that the unoptimised plan reads: the naive engine runs that one.
Result<void> add_imports(const DataflowRequest& request, const Relation& raw, const Reads& reads,
                         DataflowDescription& out) {
  std::map<GlobalId, repr::RelationType> read;
  raw.visit([&](const Relation& r) {
    const auto* get = r.as<Relation::Get>();
    const auto* id = get == nullptr ? nullptr : std::get_if<GlobalId>(&get->id);
    if (id != nullptr) read.insert_or_assign(*id, r.type());
  });
  const DataflowInputs& inputs = request.inputs;
  for (const auto& [id, type] : read) {
    bool imported = false;
    if (const auto used = reads.arrangements.find(id); used != reads.arrangements.end()) {
      for (const IndexOracle::Index& index : inputs.indexes.on(id)) {
        if (std::find(used->second.begin(), used->second.end(), index.key) == used->second.end()) continue;
        out.indexes.insert_or_assign(index.id, expr::IndexImport{id, index.key, type});
        imported = true;
      }
    }
    if (imported) continue;
    if (const auto& indexes = inputs.indexes.on(id); !indexes.empty() && !reads.streams.contains(id)) {
      out.indexes.insert_or_assign(indexes.front().id, expr::IndexImport{id, indexes.front().key, type});
      continue;
    }
    const auto stored = inputs.stored.find(id);
    if (stored == inputs.stored.end()) {
      return fail(ErrorCode::kNotFound, "collection " + to_string(id) + " can be read neither from storage nor from an index");
    }
    out.sources.insert_or_assign(id, expr::SourceImport{stored->second});
  }
  return {};
}

}  // namespace

Result<Relation> inline_views(const Relation& relation, const std::map<GlobalId, Relation>& views) {
  return ViewInliner(views).run(relation);
}

Result<DataflowDescription> build_dataflow(const DataflowRequest& request) {
  DataflowDescription out;
  out.name = request.name;
  const Relation raw = FRESHET_TRY(inline_views(request.relation, request.inputs.views));
  const auto* get = raw.as<Relation::Get>();
  Reads reads;
  if (get != nullptr && get->id == std::variant<GlobalId, LocalId>(request.id)) {
    reads.streams.insert(request.id);
  } else {
    const Relation optimized = FRESHET_TRY(optimize(raw, request.optimizer));
    expr::LirPtr lir = FRESHET_TRY(lower_physical(request.physical.literal ? raw : optimized,
                                                  request.inputs.indexes, request.physical));
    collect(*lir, reads);
    out.objects.push_back({request.id, raw, optimized, std::move(lir)});
  }
  if (auto added = add_imports(request, raw, reads, out); !added) return fail(added.error());
  for (const auto& [id, key] : request.index_exports) {
    out.index_exports.insert_or_assign(id, expr::IndexExport{request.id, key, raw.type()});
  }
  out.sink_exports = request.sink_exports;
  return out;
}

std::string explain_raw(const Relation& relation) { return to_string(relation); }

Result<std::string> explain_optimized(const Relation& relation) {
  return to_string(FRESHET_TRY(optimize(relation)));
}

std::string explain_physical(const DataflowDescription& dataflow) {
  std::string out;
  const auto key_text = [](const expr::ArrangementKey& key) { return expr::scalars_text(key); };
  for (const expr::ObjectPlan& object : dataflow.objects) {
    out += to_string(object.id) + ":\n";
    const std::string plan = to_string(*object.lir);
    for (std::size_t begin = 0; begin < plan.size();) {
      const std::size_t end = plan.find('\n', begin);
      out += "  " + plan.substr(begin, end - begin + 1);
      begin = end + 1;
    }
  }
  for (const auto& [id, source] : dataflow.sources) out += "Source " + to_string(id) + "\n";
  for (const auto& [id, index] : dataflow.indexes) {
    out += "Uses index " + to_string(id) + " on " + to_string(index.on) + key_text(index.key) + "\n";
  }
  for (const auto& [id, index] : dataflow.index_exports) {
    out += "Index " + to_string(id) + " on " + to_string(index.on) + key_text(index.key) + "\n";
  }
  for (const auto& [id, sink] : dataflow.sink_exports) {
    const bool view = sink.kind == expr::SinkExport::Kind::kMaterializedView;
    out += (view ? "Materialized view " : "Subscribe ") + to_string(id) + " of " + to_string(sink.from) + "\n";
  }
  return out;
}

}  // namespace freshet::sql
