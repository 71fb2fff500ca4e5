// SPDX-License-Identifier: Apache-2.0
// The consumer's own Highway code, which includes edgeq before Highway.
#include <edgeq/linear.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgeq_first.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace consumer {
namespace HWY_NAMESPACE {
void thrice(float* x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<float, 4> d;
  for (std::size_t i = 0; i < 4; i += hn::Lanes(d)) {
    const auto v = hn::LoadU(d, x + i);
    hn::StoreU(hn::Add(hn::Add(v, v), v), d, x + i);
  }
}
}
}
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace consumer {
HWY_EXPORT(thrice);
}
void thrice(float* x) {
  using namespace consumer;
  HWY_DYNAMIC_DISPATCH(thrice)(x);
}
#endif
