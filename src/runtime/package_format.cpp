// Tables of a package. Every table says in its comment who refers to it.
#include "src/runtime/package_format.h"

#include "src/core/hash.h"

namespace warpwright {

const std::vector<PackageTable>& package_tables() {
  static const std::vector<PackageTable> kTables = {
      // Weights, packings, sources, PTX and cubins, each once: by the SHA-256 of its bytes.
      {"blobs", "CREATE TABLE blobs (hash TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL) STRICT", "hash"},
      // A profile is the network bound to shapes.
      {"profiles", "CREATE TABLE profiles (id INTEGER PRIMARY KEY, arena_bytes INTEGER NOT NULL) STRICT", "id"},
      {"tensors",
       "CREATE TABLE tensors (profile INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL, dtype TEXT NOT NULL, "
       "layout TEXT NOT NULL, n INTEGER NOT NULL, h INTEGER NOT NULL, w INTEGER NOT NULL, c INTEGER NOT NULL, "
       "pixel_stride INTEGER NOT NULL, channel_offset INTEGER NOT NULL, arena_offset INTEGER NOT NULL, "
       "first_step INTEGER NOT NULL, last_step INTEGER NOT NULL, PRIMARY KEY (profile, id)) STRICT",
       "profile, id"},
      {"ports",
       "CREATE TABLE ports (profile INTEGER NOT NULL, direction TEXT NOT NULL, position INTEGER NOT NULL, "
       "name TEXT NOT NULL, dtype TEXT NOT NULL, layout TEXT NOT NULL, shape TEXT NOT NULL, tensor INTEGER NOT NULL, "
       "PRIMARY KEY (profile, direction, position)) STRICT",
       "profile, direction, position"},
      {"steps",
       "CREATE TABLE steps (profile INTEGER NOT NULL, id INTEGER NOT NULL, workload_key TEXT NOT NULL, "
       "workload TEXT NOT NULL, inputs TEXT NOT NULL, output INTEGER NOT NULL, onnx_nodes TEXT NOT NULL, "
       "PRIMARY KEY (profile, id)) STRICT",
       "profile, id"},
      // Canonical weights and other values of a step, whatever the plan.
      {"step_values",
       "CREATE TABLE step_values (profile INTEGER NOT NULL, step INTEGER NOT NULL, name TEXT NOT NULL, "
       "dtype TEXT NOT NULL, shape TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (profile, step, name)) STRICT",
       "profile, step, name"},
      {"targets", "CREATE TABLE targets (id INTEGER PRIMARY KEY, key TEXT NOT NULL, json TEXT NOT NULL) STRICT", "id"},
      // A plan is a profile on a target.
      {"plans", "CREATE TABLE plans (id INTEGER PRIMARY KEY, profile INTEGER NOT NULL, target INTEGER NOT NULL) STRICT",
       "id"},
      {"kernels",
       "CREATE TABLE kernels (id INTEGER PRIMARY KEY, entry TEXT NOT NULL, arch TEXT NOT NULL, "
       "source_hash TEXT NOT NULL, ptx_hash TEXT NOT NULL, cubin_hash TEXT NOT NULL, launch TEXT NOT NULL, "
       "arguments TEXT NOT NULL, registers INTEGER NOT NULL, spill_store_bytes INTEGER NOT NULL, "
       "spill_load_bytes INTEGER NOT NULL, static_smem_bytes INTEGER NOT NULL, local_bytes INTEGER NOT NULL, "
       "compiler TEXT NOT NULL) STRICT",
       "id"},
      {"plan_steps",
       "CREATE TABLE plan_steps (plan INTEGER NOT NULL, step INTEGER NOT NULL, kernel INTEGER NOT NULL, "
       "config TEXT NOT NULL, rung TEXT NOT NULL, evidence TEXT NOT NULL, PRIMARY KEY (plan, step)) STRICT",
       "plan, step"},
      // Constants in the layout that a plan's kernel wants; argument counts the kernel's parameters.
      {"packings",
       "CREATE TABLE packings (plan INTEGER NOT NULL, step INTEGER NOT NULL, argument INTEGER NOT NULL, "
       "dtype TEXT NOT NULL, shape TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (plan, step, argument)) STRICT",
       "plan, step, argument"},
      {"manifest", "CREATE TABLE manifest (json TEXT NOT NULL) STRICT", "json"},
      {"digest", "CREATE TABLE digest (sha256 TEXT NOT NULL) STRICT", "sha256"},
  };
  return kTables;
}

std::string package_digest(SqliteFile& file) {
  std::string canonical;
  for (const PackageTable& table : package_tables()) {
    if (table.name == "digest") continue;
    canonical += table.name + "\n";
    const std::string columns = table.name == "blobs" ? "hash" : "*";
    SqliteStatement rows(file, "SELECT " + columns + " FROM " + table.name + " ORDER BY " + table.order_by);
    while (rows.step()) {
      for (int column = 0; column < rows.columns(); ++column) canonical += rows.canonical(column);
      canonical += "\n";
    }
  }
  return sha256_hex(canonical);
}

}  // namespace warpwright
