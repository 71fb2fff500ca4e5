// SPDX-License-Identifier: Apache-2.0
// edgeq: looks into model files, and packs, quantizes, compares and converts them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <new>
#include <string>

#include "commands.hpp"
#include "report.hpp"

namespace {

int refuse(std::string sentence) {
  while (!sentence.empty() && sentence.back() == '\n') sentence.pop_back();
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  std::fprintf(stderr, "edgeq: %s\n", tool::printable(std::move(sentence)).c_str());
  return 1;
}

/// The commands, each with its options, and the one that was asked for.
class CommandLine {
 public:
  CommandLine() {
    app.require_subcommand(1);
    add_inspect();
    add_pack();
    add_quantize();
    add_verify();
    add_convert();
  }

  CLI::App app{"Looks into model files, and packs, quantizes, compares and converts them.", "edgeq"};
  std::function<edgeq::Status()> command;

 private:
  static constexpr const char* any_model =
      "safetensors file, index or folder (with its config.json), GGUF, or packed file";

  CLI::App* add(const char* name, const char* description, tool::CommonOptions& common,
                std::function<edgeq::Status()> run) {
    CLI::App* sub = app.add_subcommand(name, description);
    sub->add_flag("--json", common.json, "print one JSON object");
    sub->add_option("--threads", common.threads, "0: as many as pay")->check(CLI::Range(0, 1024));
    sub->callback([this, run = std::move(run)] { command = run; });
    return sub;
  }
  static void add_static_groups(CLI::App* sub, tool::PackOptions& options) {
    sub->add_flag("--static-groups", options.static_groups,
                  "pack 4-bit groups of 32, 64 and 128 as formats that know their size");
  }

  void add_inspect() {
    auto& o = inspect_;
    CLI::App* sub =
        add("inspect", "every tensor, how it is stored, and the edgeq format that holds it exactly", o.common,
            [&o] { return tool::inspect(o); });
    sub->add_option("in", o.in, any_model)->required();
    sub->add_flag("--plan", o.plan, "which kernel would multiply each format here, and why");
  }

  void add_pack() {
    auto& o = pack_;
    CLI::App* sub = add("pack", "write a packed file, whose panels a program maps and multiplies", o.common,
                        [&o] { return tool::pack(o); });
    sub->add_option("in", o.in, any_model)->required();
    sub->add_option("out", o.out, "the packed file")->required();
    sub->add_option_function<std::string>(
           "--embeddings", [&o](const std::string& choice) { o.pack_embeddings = choice == "pack"; },
           "keep: as elements; pack: as panels, of which a layer looks rows up (default keep)")
        ->check(CLI::IsMember({"keep", "pack"}));
    sub->add_flag("--untie", o.untie, "write a tied head as panels of its own");
    add_static_groups(sub, o.pack);
  }

  void add_quantize() {
    auto& o = quantize_;
    CLI::App* sub =
        add("quantize", "quantize the linears of plain floats", o.common, [&o] { return tool::quantize(o); });
    sub->option_defaults()->always_capture_default();
    sub->add_option("in", o.in, any_model)->required()->always_capture_default(false);
    sub->add_option("out", o.out, "folder of the new checkpoint, or packed file")
        ->required()
        ->always_capture_default(false);
    sub->add_option("--format", o.format, "codes")->check(CLI::IsMember({"int4", "int8", "fp8"}));
    sub->add_option("--group", o.group, "k that share a scale: a number, or \"channel\" for all of a row");
    sub->add_flag("--symmetric,!--asymmetric", o.symmetric,
                  "without zero points, which is the default, or with");
    sub->add_option("--method", o.method, "round to nearest, or GPTQ, which needs --calibration")
        ->check(CLI::IsMember({"rtn", "gptq"}));
    sub->add_flag("--search", o.search, "take the scales with the least squared error of the weights");
    sub->add_option(
           "--calibration", o.calibration,
           "safetensors file of inputs: for each module a tensor named like it, or like it and \".input\", "
           "F32, F16 or BF16 [rows, K]")
        ->always_capture_default(false);
    sub->add_flag(
           "--act-order{auto}", o.act_order,
           "gptq: columns of large inputs first; =group: groups follow that order, =static: groups are "
           "neighbours; without either, static for compressed-tensors, else group")
        ->check(CLI::IsMember({"none", "auto", "group", "static"}));
    sub->add_option("--damping", o.damping, "gptq: of the mean of the Hessian's diagonal")
        ->check(CLI::PositiveNumber);
    sub->add_option("--block", o.block, "fp8: a scale per block, for example 128x128, instead of per channel")
        ->always_capture_default(false);
    sub->add_option("--scales", o.scales, "type of the scales of integers")
        ->check(CLI::IsMember({"as-stored", "f16", "bf16", "f32"}));
    sub->add_option("--ignore", o.ignore,
                    "module to leave alone, by name or \"re:\" and an expression; repeatable")
        ->always_capture_default(false);
    sub->add_flag("--head", o.head, "quantize the output head, too; a tied one gets weights of its own");
    sub->add_option("--output-form", o.form, "what to write")
        ->check(CLI::IsMember({"gptq", "compressed-tensors", "fp8", "packed"}));
    add_static_groups(sub, o.pack);
  }

  void add_verify() {
    auto& o = verify_;
    CLI::App* sub = add("verify", "compare two model files, or a packed file with its checksums", o.common,
                        [&o] { return tool::verify(o); });
    sub->add_option("a", o.a, any_model)->required();
    sub->add_option("b", o.b, "another one; without it, the first must be a packed file");
    sub->add_flag("--exact", o.exact, "fail unless everything is equal");
  }

  void add_convert() {
    auto& o = convert_;
    CLI::App* sub = add("convert", "the same codes, scales and zeros in another form of checkpoint", o.common,
                        [&o] { return tool::convert(o); });
    sub->add_option("in", o.in, any_model)->required();
    sub->add_option("out", o.out, "folder of the new checkpoint, or packed file")->required();
    sub->add_option("--to", o.form, "the form")
        ->required()
        ->check(CLI::IsMember({"gptq", "compressed-tensors", "fp8", "packed"}));
    add_static_groups(sub, o.pack);
  }

  tool::InspectOptions inspect_;
  tool::PackCommand pack_;
  tool::QuantizeOptions quantize_;
  tool::VerifyOptions verify_;
  tool::ConvertOptions convert_;
};

}

int main(int argc, char** argv) {
  try {
    CommandLine line;
    try {
      line.app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return error.get_exit_code() == 0 ? line.app.exit(error) : refuse(error.what());
    }
    const edgeq::Status status = line.command();
    return status ? 0 : refuse(status.error().message);
  } catch (const std::bad_alloc&) {
    return refuse("there is not enough memory");
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
}
