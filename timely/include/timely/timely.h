// SPDX-License-Identifier: Apache-2.0
/// Everything of timely, for small programs; larger ones include what they use.
#pragma once

#include <timely/builder.h>
#include <timely/capture.h>
#include <timely/input.h>
#include <timely/notificator.h>
#include <timely/operators.h>
#include <timely/probe.h>
#include <timely/runtime.h>
#include <timely/sim_executor.h>
#include <timely/tbb_executor.h>
#include <timely/unary.h>
