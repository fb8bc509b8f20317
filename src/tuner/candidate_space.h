// CandidateSpace: the legal Configs of a task over all families that take its Workload.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "search_space/kernel_family.h"

namespace warpwright {

class CandidateSpace {
 public:
  /// Of those families that have a legal Config; throws UsageError when none has. Workload and Target must outlive it.
  CandidateSpace(const Workload& workload, const Target& target, std::vector<const KernelFamily*> families);

  /// Of each family, the most promising first.
  const std::vector<Config>& defaults() const { return defaults_; }
  /// What the families hold worth measuring first, in their order; all of them legal.
  std::vector<Config> seeds() const;
  /// Every legal Config when the spaces are small enough to be listed; computed once.
  const std::optional<std::vector<Config>>& listed();
  /// One family by the size of its space, then uniform within; nullopt when `tries` points were illegal.
  std::optional<Config> sample(std::mt19937_64& random, int tries) const;
  std::vector<Config> neighbours(const Config& config) const;
  bool contains(const Config& config) const;
  /// Hash of the emitted source, launch and arguments: equal for Configs that come to the same kernel.
  std::string fingerprint(const Config& config) const;

 private:
  const Space* space_of(const Config& config) const;

  const Workload* workload_;
  const Target* target_;
  std::vector<const KernelFamily*> families_;
  std::vector<Space> spaces_;  // of each family
  std::vector<Config> defaults_;
  bool was_listed_ = false;
  std::optional<std::vector<Config>> listed_;
};

}  // namespace warpwright
