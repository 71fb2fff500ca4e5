// SPDX-License-Identifier: Apache-2.0
// The commands of the tool and what they can be told. Each returns why it failed, in one sentence.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "edgeq/result.hpp"
#include "edgeq/thread_pool.hpp"
#include "weights.hpp"

namespace tool {

/// What all commands understand.
struct CommonOptions {
  bool json = false;        ///< print one JSON object
  std::size_t threads = 0;  ///< 0: as many as pay

  std::size_t thread_count() const { return threads == 0 ? edgeq::default_thread_count() : threads; }
};

struct InspectOptions {
  CommonOptions common = {};
  std::string in = {};
  bool plan = false;  ///< which kernels would run
};
/// Prints what a model file holds and what edgeq would make of it.
edgeq::Status inspect(const InspectOptions& options);

struct PackCommand {
  CommonOptions common = {};
  std::string in = {}, out = {};
  PackOptions pack = {};
  bool pack_embeddings = false;  ///< as panels, of which a layer can look rows up
  bool untie = false;            ///< a tied head gets panels of its own
};
/// Writes a packed file: linears as panels, everything else as it is.
edgeq::Status pack(const PackCommand& options);

struct VerifyOptions {
  CommonOptions common = {};
  std::string a = {}, b = {};  ///< without b, a packed file's checksums are checked
  bool exact = false;          ///< refuse what is not equal
};
/// Compares the linears of two model files.
edgeq::Status verify(const VerifyOptions& options);

struct ConvertOptions {
  CommonOptions common = {};
  std::string in = {}, out = {};
  std::string form = {};
  PackOptions pack = {};
};
/// Writes the same codes, scales and zeros in another form of checkpoint.
edgeq::Status convert(const ConvertOptions& options);

struct QuantizeOptions {
  CommonOptions common = {};
  std::string in = {}, out = {};
  std::string format = "int4";  ///< int4, int8, fp8
  std::string group = "128";    ///< a number, or "channel"
  bool symmetric = true;
  std::string method = "rtn";  ///< rtn, gptq
  bool search = false;         ///< for the scales with the least squared error
  std::string calibration = {};
  /// Columns of large inputs first: "none", "group" (groups follow the order), "static" (groups are
  /// neighbours), "auto" (what the form's readers know: static for compressed-tensors).
  std::string act_order = "none";
  double damping = 0.01;
  std::string block = {};            ///< of fp8, for example "128x128"; empty: a scale per channel
  std::string scales = "as-stored";  ///< of integers: f16, bf16, f32
  std::vector<std::string> ignore = {};
  bool head = false;  ///< the output head, too
  std::string form = "compressed-tensors";
  PackOptions pack = {};
};
/// Quantizes the linears of plain floats.
edgeq::Status quantize(const QuantizeOptions& options);

}
