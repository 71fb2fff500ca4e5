// SPDX-License-Identifier: Apache-2.0
// The consumer's own Highway code, which includes Highway before edgeq.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "highway_first.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <edgeq/linear.hpp>

HWY_BEFORE_NAMESPACE();
namespace consumer {
namespace HWY_NAMESPACE {
void twice(float* x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<float, 4> d;
  for (std::size_t i = 0; i < 4; i += hn::Lanes(d)) {
    const auto v = hn::LoadU(d, x + i);
    hn::StoreU(hn::Add(v, v), d, x + i);
  }
}
}
}
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace consumer {
HWY_EXPORT(twice);
}
void twice(float* x) {
  using namespace consumer;
  HWY_DYNAMIC_DISPATCH(twice)(x);
}
#endif
