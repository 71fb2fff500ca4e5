// SPDX-License-Identifier: Apache-2.0
// An executor without run().
// expect: executor\.run\(std::size_t\{\}, task\)
#include "edgeq/linear.hpp"

#ifdef EDGEQ_MISTAKE
struct Pool {
  std::size_t concurrency() const { return 4; }
};
#else
struct Pool {
  std::size_t concurrency() const { return 4; }
  template <class Task>
  void run(std::size_t tasks, const Task& task) const {
    for (std::size_t i = tasks; i > 0; --i) task(i - 1);
  }
};
#endif

void run(const edgeq::Linear<edgeq::Int4<32>>& layer, const edgeq::Prepared& x, edgeq::MatrixView<float> y) {
  layer.run(x, y, Pool{});
}
