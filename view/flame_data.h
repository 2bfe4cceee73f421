// SPDX-License-Identifier: Apache-2.0
// The trees as the page reads them: one JSON object, the tables shared by all trees (page/model.js has the other end).
//
//   title, version
//   strings    each text once
//   functions  four numbers each: name, file, module (of strings), colour class; own code has a class below 8
//   types      for each tree: type, unit, samples, cut, wide, where call_tree_trim was at work also small (how many frames)
//              and below (what they are, in percent), and its frames in preorder:
//              f  function; u  levels up from the frame before (0 = its child); s  for each side the values of its own
//
// u and the lists in s are mostly zeros and written in pairs: how many zeros, then a number that is none. Values beyond
// 2^53 - 1 are written as strings; wide says that sums may get there, so that the page counts in BigInt.
#ifndef VIEW_FLAME_DATA_H
#define VIEW_FLAME_DATA_H

#include "view/flame_page.h"

enum err_code flame_data_write(const struct call_tree *trees, size_t count, const char *title, struct buf *out,
                               struct err *e) MUST_USE;

#endif
