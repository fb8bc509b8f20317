// Nested scopes of registers and labels.
#include "src/device/virtual/ptx_scope.h"

namespace warpwright::ptx {

void Scopes::open() {
  registers_.emplace_back();
  chain_.push_back(scopes_seen_++);
}

bool Scopes::close() {
  if (chain_.size() == 1) return false;
  registers_.pop_back();
  chain_.pop_back();
  return true;
}

int Scopes::find_register(const std::string& name) const {
  for (auto scope = registers_.rbegin(); scope != registers_.rend(); ++scope) {
    if (const auto found = scope->find(name); found != scope->end()) return found->second;
  }
  return -1;
}

bool Scopes::add_label(std::string_view name, int instruction) {
  return labels_.emplace(label_key(chain_.back(), name), instruction).second;
}

int Scopes::find_label(std::string_view name, const std::vector<int>& chain) const {
  for (auto scope = chain.rbegin(); scope != chain.rend(); ++scope) {
    if (const auto found = labels_.find(label_key(*scope, name)); found != labels_.end()) return found->second;
  }
  return -1;
}

}  // namespace warpwright::ptx
