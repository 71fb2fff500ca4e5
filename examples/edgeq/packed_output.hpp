// SPDX-License-Identifier: Apache-2.0
// Writes the items of a model as a packed file.
#pragma once
#include <string>

#include "edgeq/thread_pool.hpp"
#include "model_file.hpp"

namespace tool {

/// How a packed file is written.
struct PackedOutput {
  PackOptions pack;
  /// Embeddings of plain floats become panels, too; otherwise they stay elements. Those of other formats are
  /// always panels.
  bool pack_embeddings = false;
  /// A tied head gets panels of its own, under the name that it would have.
  bool untie = false;
};

/// What a packed file has become.
struct PackedSummary {
  std::size_t panels = 0, elements = 0;  ///< entries
  std::size_t bytes = 0;                 ///< of the file
  double seconds = 0.0;                  ///< that the writing took
};

/// Writes all items. Refuses items that edgeq cannot hold, by name, before anything is written.
edgeq::Result<PackedSummary> write_packed(const ModelFile& model, const std::string& path,
                                          const PackedOutput& options, const edgeq::ThreadPool& threads);

/// Says on stdout what was written.
void print_summary(const std::string& path, const PackedSummary& summary, bool json);

}
