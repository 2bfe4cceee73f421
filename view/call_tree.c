// SPDX-License-Identifier: Apache-2.0
#include "view/call_tree.h"
