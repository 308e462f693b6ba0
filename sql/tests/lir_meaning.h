// SPDX-License-Identifier: Apache-2.0
/// What a physical plan means, as a relation that the naive engine can run; checks on the way that every
/// arrangement that a node names is there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <freshet/expr/lir.h>
#include <freshet/sql/optimizer.h>

namespace freshet::sql {

class LirMeaning {
 public:
  LirMeaning(std::map<expr::GlobalId, repr::RelationType> collections, const IndexOracle& indexes)
      : globals_(std::move(collections)), indexes_(indexes) {}

  /// Delta joins are read by the path `path` (modulo their number): each computes the whole join.
  expr::Relation of(const expr::Lir& lir, std::size_t path = 0);
  /// Rules that the plan breaks.
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }
  /// How often each form occurred.
  [[nodiscard]] const std::map<std::string, std::size_t>& forms() const { return forms_; }

 private:
  expr::Relation node(const expr::Lir::Constant& n, const expr::Lir& lir);
  expr::Relation node(const expr::Lir::Get& n, const expr::Lir& lir);
  expr::Relation node(const expr::Lir::Let& n, const expr::Lir& lir);
  expr::Relation node(const expr::Lir::LetRec& n, const expr::Lir& lir);
  expr::Relation node(const expr::Lir::MapFilterProject& n, const expr::Lir& lir);
  expr::Relation node(const expr::Lir::FlatMap& n, const expr::Lir& lir);
  expr::Relation node(const expr::Lir::Join& n, const expr::Lir& lir);
  expr::Relation node(const expr::Lir::Match& n, const expr::Lir& lir);
  expr::Relation node(const expr::Lir::Reduce& n, const expr::Lir& lir);
  expr::Relation node(const expr::Lir::TopK& n, const expr::Lir& lir);
  expr::Relation node(const expr::Lir::Negate& n, const expr::Lir& lir);
  expr::Relation node(const expr::Lir::Threshold& n, const expr::Lir& lir);
  expr::Relation node(const expr::Lir::Union& n, const expr::Lir& lir);
  expr::Relation node(const expr::Lir::ArrangeBy& n, const expr::Lir& lir);

  expr::Relation stages(expr::Relation joined, const std::vector<expr::JoinStage>& all,
                        const std::vector<expr::LirPtr>& inputs);
  void require_arrangement(const expr::Lir& input, const expr::ArrangementKey& key);
  void complain(std::string what) { complaints_.push_back(std::move(what)); }
  expr::Relation with_mfp(const expr::Relation& input, const expr::Mfp& mfp);

  std::map<expr::GlobalId, repr::RelationType> globals_;
  const IndexOracle& indexes_;
  std::map<expr::LocalId, repr::RelationType> locals_{};
  std::map<expr::LocalId, std::vector<expr::ArrangementKey>> local_keys_{};
  std::vector<std::string> complaints_{};
  std::map<std::string, std::size_t> forms_{};
  std::size_t path_ = 0;
};

}  // namespace freshet::sql
