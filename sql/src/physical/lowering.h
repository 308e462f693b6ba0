// SPDX-License-Identifier: Apache-2.0
/// Lowers relations to LIR; shared by the files of physical planning.
#pragma once

#include <map>
#include <set>

#include <freshet/expr/match_keys.h>
#include <freshet/sql/physical.h>

#include "physical/join_order.h"

namespace freshet::sql::physical {

using expr::Lir;
using expr::LirPtr;
using expr::LocalId;
using expr::Mfp;
using passes::Columns;

/// A relation taken apart: what lies below its maps, filters and projections, and these as one step.
struct Peeled {
  Relation core;
  Mfp mfp;
};
/// 0A000 if a filter on mz_now() cannot be a temporal one.
Result<Peeled> peel(const Relation& relation);

/// Key values that the predicates of `mfp` allow for an index with that key; nothing if they do not pin it.
std::optional<std::vector<repr::DatumRow>> find_seek(const Mfp& mfp, const Columns& input,
                                                     const ArrangementKey& key);

/// `key` over the output of `mfp`, as written over its input; nothing if that cannot be.
std::optional<ArrangementKey> below_mfp(const Mfp& mfp, const ArrangementKey& key);

class Lowering {
 public:
  Lowering(const IndexOracle& indexes, const PhysicalOptions& options, std::uint64_t next_local)
      : indexes_(indexes), options_(options), next_local_(next_local) {}

  Result<LirPtr> lower(const Relation& relation);
  /// Then `after`, which is not temporal unless it stands alone.
  Result<LirPtr> lower_with(const Relation& relation, const Mfp& after);

 private:
  Result<LirPtr> core(const Relation& relation, const Mfp& after);
  Result<LirPtr> literal(const Relation& relation);
  LirPtr with_mfp(LirPtr input, const Mfp& mfp);

  Result<LirPtr> get(const Relation& relation, const Relation::Get& n, const Mfp& after);
  Result<LirPtr> let(const Relation::Let& n, const Mfp& after);
  Result<LirPtr> let_rec(const Relation::LetRec& n, const Mfp& after);
  Result<LirPtr> flat_map(const Relation& relation, const Relation::FlatMap& n, const Mfp& after);
  Result<LirPtr> reduce(const Relation& relation, const Relation::Reduce& n, const Mfp& after);
  Result<LirPtr> union_all(const Relation& relation, const Relation::Union& n, const Mfp& after);

  // join.cc
  Result<LirPtr> join(const Relation::Join& n, const Mfp& closure);
  /// Inputs whose filters and projections stand over an index that the join can use are opened.
  void open_indexed(Relation::Join& n, Mfp& closure) const;
  JoinInput describe(const Relation& input, Span span) const;
  /// The input, with the arrangements that the join looks up.
  Result<LirPtr> arranged(const Relation& input, const std::vector<ArrangementKey>& keys);

  // match.cc
  Result<LirPtr> match(const Relation& relation, const Relation::Match& n, const Mfp& after);
  struct Sides {
    expr::MatchKind kind;
    const Relation& left;
    const Relation& right;
    const expr::MatchSplit& split;
  };
  Result<LirPtr> keyed_match(const Relation& relation, const Sides& n, const Mfp& after);
  Result<LirPtr> residual_match(const Relation& relation, const Sides& n, const Mfp& after);

  /// Non-temporal, so that it may be fused into any node.
  bool may_fuse(const Mfp& mfp) const { return !mfp.is_temporal(); }

  const IndexOracle& indexes_;
  const PhysicalOptions& options_;
  std::uint64_t next_local_;
  /// Locals that are not bound by a LetRec: their values may carry arrangements.
  std::map<LocalId, std::vector<ArrangementKey>> requested_{};
};

}  // namespace freshet::sql::physical
