// SPDX-License-Identifier: Apache-2.0
// verify: the figures of an error that is known, and files that are not what they were.
#include <fstream>

#include "edgeq/commands.hpp"
#include "tool/model_folder.hpp"

namespace {

using namespace edgeq;
using test::CheckpointBuilder;
using test::TemporaryFolder;

/// The report, and the message of a refusal.
struct Answer {
  nlohmann::json report;
  std::string refusal;
};
Answer verify(tool::VerifyOptions options) {
  options.common.json = true;
  testing::internal::CaptureStdout();
  const Status status = tool::verify(options);
  return {nlohmann::json::parse(testing::internal::GetCapturedStdout(), nullptr, false),
          status ? "" : status.error().message};
}

/// A checkpoint of one linear [2, 4] and a norm.
std::string write(const TemporaryFolder& folder, const std::string& name, const std::vector<float>& weights,
                  float norm = 1.0f, float bias = 0.5f) {
  CheckpointBuilder builder;
  builder.floats("proj.weight", ElementType::f32, {2, 4}, weights);
  builder.floats("proj.bias", ElementType::f32, {2}, {bias, bias});
  builder.floats("norm.weight", ElementType::f32, {1}, {norm});
  return builder.write(folder, name);
}

TEST(Verify, MeasuresAKnownError) {
  TemporaryFolder folder;
  const std::string a = write(folder, "a", {3, 0, 0, 4, 10, 0, 0, 0}),
                    b = write(folder, "b", {3, 0, 0, 4.5f, 10, 0, 0, 0.125f});
  const Answer answer = verify({.a = a, .b = b});
  ASSERT_EQ(answer.refusal, "");
  const auto& line = answer.report["linears"][0];
  const double noise = 0.25 + 0.015625;
  EXPECT_EQ(line["exact"], false);
  EXPECT_NEAR(line["snr_db"], 10 * std::log10(125.0 / noise), 1e-12);
  EXPECT_NEAR(line["cosine"], (9 + 18 + 100) / std::sqrt(125.0 * (9 + 20.25 + 100 + 0.015625)), 1e-12);
  EXPECT_EQ(line["worst_channel"], 0);
  EXPECT_NEAR(line["worst_snr_db"], 10 * std::log10(25.0 / 0.25), 1e-12);
  EXPECT_EQ(answer.report["equal_tensors"], 1);
}

TEST(Verify, IsExactOnlyIfEverythingIs) {
  TemporaryFolder folder;
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::string a = write(folder, "a", weights), same = write(folder, "same", weights),
                    norm = write(folder, "norm", weights, 2.0f),
                    bias = write(folder, "bias", weights, 1.0f, 0.0f);
  EXPECT_EQ(verify({.a = a, .b = same, .exact = true}).refusal, "");
  EXPECT_NE(verify({.a = a, .b = norm, .exact = true}).refusal, "");
  EXPECT_NE(verify({.a = a, .b = bias, .exact = true}).refusal, "");
  EXPECT_EQ(verify({.a = a, .b = bias}).refusal, "")
      << "differences are no failure unless they are asked for";
  CheckpointBuilder more;
  more.floats("proj.weight", ElementType::f32, {2, 4}, weights);
  more.floats("other.weight", ElementType::f32, {2, 4}, weights);
  const std::string longer = more.write(folder, "longer");
  EXPECT_NE(verify({.a = a, .b = longer, .exact = true}).refusal, "");
  EXPECT_EQ(verify({.a = a, .b = longer}).report["missing"][0], "other (only in the second)");
}

TEST(Verify, PutsTheWorstFirst) {
  TemporaryFolder folder;
  const auto write_two = [&](const std::string& name, float error_x, float error_y) {
    CheckpointBuilder builder;
    builder.floats("x.weight", ElementType::f32, {1, 2}, {1, error_x});
    builder.floats("y.weight", ElementType::f32, {1, 2}, {1, error_y});
    return builder.write(folder, name);
  };
  const auto report = verify({.a = write_two("a", 0, 0), .b = write_two("b", 0.1f, 0.2f)}).report;
  EXPECT_EQ(report["linears"][0]["name"], "y");
  EXPECT_EQ(report["linears"][1]["name"], "x");
}

TEST(Verify, RefusesOtherShapesAndOtherModels) {
  TemporaryFolder folder;
  const std::string a = write(folder, "a", std::vector<float>(8));
  CheckpointBuilder wide, other;
  wide.floats("proj.weight", ElementType::f32, {4, 2}, std::vector<float>(8));
  other.floats("another.weight", ElementType::f32, {4, 2}, std::vector<float>(8));
  EXPECT_NE(verify({.a = a, .b = wide.write(folder, "wide")}).refusal.find("[2, 4] in one file, [4, 2]"),
            std::string::npos);
  EXPECT_NE(verify({.a = a, .b = other.write(folder, "other")}).refusal.find("no linear in common"),
            std::string::npos);
}

TEST(Verify, FindsAlteredBytesOfAPackedFile) {
  TemporaryFolder folder;
  const std::string a = write(folder, "a", {1, 2, 3, 4, 5, 6, 7, 8});
  testing::internal::CaptureStdout();
  ASSERT_TRUE(tool::pack({.in = a, .out = folder.path("packed")}));
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(verify({.a = folder.path("packed")}).report["intact"], true);
  std::string bytes = folder.read("packed");
  const float seven = 7.0f;
  std::string pattern(sizeof seven, 0);
  std::memcpy(pattern.data(), &seven, sizeof seven);
  const std::size_t at = bytes.find(pattern);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  folder.write("packed", bytes);
  EXPECT_NE(verify({.a = folder.path("packed")}).refusal.find("proj was altered"), std::string::npos);
  EXPECT_NE(verify({.a = a}).refusal, "") << "only packed files have checksums";
}

}
