// SPDX-License-Identifier: Apache-2.0
// Tensors in the order of the file, each made when its turn has come.
#include "checkpoint_output.hpp"

#include <fstream>
#include <unordered_map>

#include "form_config.hpp"
#include "report.hpp"

namespace tool {

using edgeq::CheckpointTensor;
using edgeq::Error;
using edgeq::ErrorCode;
using edgeq::Result;
using edgeq::Status;
namespace safetensors = edgeq::safetensors;

namespace {

/// The tensors to write, by name.
struct Contents {
  std::vector<LinearDescription> linears;
  std::vector<std::string> plain;  ///< linears that stay floats
  std::vector<safetensors::TensorDeclaration> declarations;
  std::unordered_map<std::string, FormTensor> made;
  std::unordered_map<std::string, CheckpointTensor> kept;

  void keep(const CheckpointTensor& tensor) {
    declarations.push_back({std::string(tensor.name), tensor.type, tensor.shape});
    kept.emplace(tensor.name, tensor);
  }
};

Result<Contents> contents_of(const ModelFile& model, Form form, FormContext& context) {
  Contents contents;
  std::vector<const AnyWeights*> weights;
  for (const ModelItem& item : model.items) {
    if (!item.refusal.empty()) return Error{ErrorCode::unsupported, item.refusal};
    if (item.bias) contents.keep(*item.bias);
    if (item.tensor) {
      contents.keep(*item.tensor);
      if (item.role == Role::linear || item.role == Role::head) contents.plain.push_back(item.name);
    } else {
      contents.linears.push_back(LinearDescription::of(item.name, *item.weights));
      weights.push_back(item.weights.get());
    }
  }
  if (model.is_tied) contents.plain.push_back(model.head_name());  // loaders make a linear of it all the same
  auto agreed = FormContext::of(form, contents.linears);
  if (!agreed) return agreed.error();
  context = *agreed;
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (FormTensor& tensor : tensors_of(form, contents.linears[i], *weights[i], context)) {
      contents.declarations.push_back(tensor.declaration);
      contents.made.emplace(tensor.declaration.name, std::move(tensor));
    }
  return contents;
}

Status write_tensors(const ModelFile& model, const Contents& contents, const std::string& path,
                     const edgeq::ThreadPool& threads, std::size_t& bytes) {
  auto writer = safetensors::Writer::create(path, contents.declarations, {{"format", "pt"}});
  if (!writer) return writer.error();
  Progress progress("writing");
  const std::vector<safetensors::TensorDeclaration> in_order(writer->tensors().begin(),
                                                             writer->tensors().end());
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    progress.show(i, in_order.size());
    const std::string& name = in_order[i].name;
    Status status = edgeq::success();
    if (const auto kept = contents.kept.find(name); kept != contents.kept.end()) {
      bytes += kept->second.data.size();
      status = writer->append(name, kept->second.data);
    } else {
      const std::vector<std::byte> data = contents.made.at(name).bytes(threads);
      bytes += data.size();
      status = writer->append(name, data);
    }
    if (!status) return status;
    model.release_pages();
  }
  return writer->finish();
}

Status write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text << '\n';
  stream.close();
  if (stream) return edgeq::success();
  return Error{ErrorCode::io, "cannot write file \"" + path.string() + "\""};
}

/// Tokenizers, chat templates and whatever else is neither weights nor a config that is written anew.
Status copy_other_files(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(from, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string(),
                      extension = entry->path().extension().string();
    const bool is_text =
        extension == ".json" || extension == ".txt" || extension == ".model" || extension == ".jinja";
    const bool is_config = name == "config.json" || name.ends_with("quantize_config.json") ||
                           name.ends_with("quant_config.json") || name.ends_with(".index.json");
    if (!entry->is_regular_file() || !is_text || is_config) continue;
    std::filesystem::copy_file(entry->path(), to / name, std::filesystem::copy_options::overwrite_existing,
                               error);
    if (error) break;
  }
  if (!error) return edgeq::success();
  return Error{ErrorCode::io,
               "cannot copy the files of folder \"" + from.string() + "\": " + error.message()};
}

}

Status check_checkpoint(const ModelFile& model, const std::string& folder) {
  if (model.kind != ModelFile::Kind::safetensors)
    return Error{
        ErrorCode::unsupported,
        std::string(model.kind == ModelFile::Kind::gguf ? "a GGUF file" : "a packed file") +
            " has neither the names nor the config of a checkpoint: only a packed file can be made of it"};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error{ErrorCode::io, "cannot create folder \"" + folder + "\": " + error.message()};
  const std::filesystem::path own = model.folder.empty() ? "." : model.folder;
  if (std::filesystem::equivalent(own, folder, error))
    return Error{ErrorCode::invalid_argument, "\"" + folder + "\" is the folder that is read"};
  return edgeq::success();
}

Result<CheckpointSummary> write_checkpoint(const ModelFile& model, Form form, const std::string& folder,
                                           const edgeq::ThreadPool& threads) {
  if (Status status = check_checkpoint(model, folder); !status) return status.error();
  FormContext context;
  const auto contents = contents_of(model, form, context);
  if (!contents) return contents.error();
  if (contents->linears.empty())
    return Error{ErrorCode::invalid_argument,
                 "no linear is quantized: there is nothing to write in another form"};
  auto config = nlohmann::ordered_json::parse(model.config.empty() ? "{}" : model.config, nullptr, false);
  if (!config.is_object()) return Error{ErrorCode::invalid_file, "config.json is not an object"};

  CheckpointSummary summary{contents->linears.size(), contents->kept.size(), 0};
  const std::filesystem::path to = folder;
  if (Status s = write_tensors(model, *contents, (to / "model.safetensors").string(), threads, summary.bytes);
      !s)
    return s.error();
  const auto quantization = quantization_config(form, contents->linears, context, contents->plain);
  config.erase("compression_config");
  if (const auto model_config = config.find("text_config");
      model_config != config.end() && model_config->is_object())
    model_config->erase("quantization_config");
  config["quantization_config"] = quantization;
  if (Status s = write_text(to / "config.json", config.dump(2)); !s) return s.error();
  if (form == Form::gptq)
    if (Status s = write_text(to / "quantize_config.json", quantization.dump(2)); !s) return s.error();
  if (Status s = copy_other_files(model.folder.empty() ? "." : model.folder, to); !s) return s.error();
  return summary;
}

}
