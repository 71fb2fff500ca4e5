// SPDX-License-Identifier: Apache-2.0
// A group size that is neither a number of k nor one of the named ones.
// expect: edgeq: the group is a positive number of k, dynamic_group, per_channel or per_tensor
#include "edgeq/linear.hpp"

#ifdef EDGEQ_MISTAKE
using Format = edgeq::Int4<-5>;
#else
using Format = edgeq::Int4<5>;
#endif

auto pack(const Format::View& view) {
  return edgeq::Linear<Format>::pack(view);
}
