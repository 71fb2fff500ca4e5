// SPDX-License-Identifier: Apache-2.0
// Writes a model as a checkpoint folder: one safetensors file, and the configs that say how to read it.
#pragma once
#include <string>

#include "checkpoint_form.hpp"
#include "edgeq/thread_pool.hpp"
#include "model_file.hpp"

namespace tool {

/// What a checkpoint has become.
struct CheckpointSummary {
  std::size_t quantized = 0, kept = 0;  ///< linears, and tensors that stayed as they were
  std::size_t bytes = 0;                ///< of all tensors
};

/// Writes model.safetensors with every quantized matrix in the form and every other tensor as it is,
/// config.json with the form's quantization_config in it, for gptq also quantize_config.json, and copies the
/// tokenizer and other small files from the model's folder. Needs memory for the largest tensor of one
/// linear. Refuses models of names that no checkpoint has, linears that the form cannot hold, and the model's
/// own folder, before it writes.
edgeq::Result<CheckpointSummary> write_checkpoint(const ModelFile& model, Form form,
                                                  const std::string& folder,
                                                  const edgeq::ThreadPool& threads);

/// The refusals that do not depend on the linears; creates the folder.
edgeq::Status check_checkpoint(const ModelFile& model, const std::string& folder);

/// Says on stdout what was written.
void print_summary(const std::string& folder, const CheckpointSummary& summary, bool json);

}
