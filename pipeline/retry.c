// SPDX-License-Identifier: Apache-2.0
#include "pipeline/retry.h"

#include "base/clock.h"
#include "base/text.h"

#include <string.h>
#include <time.h>

#define ONE_DAY_SECONDS 86400LL

void retry_begin(struct retry_state *s, const struct retry_settings *settings, int64_t now_nanos)
{
    *s = (struct retry_state){.first_attempt_nanos = now_nanos, .interval_nanos = settings->initial_interval_nanos};
}

static int64_t next_interval(const struct retry_state *s, const struct retry_settings *settings)
{
    double grown = (double)s->interval_nanos * settings->multiplier;
    return grown > (double)settings->max_interval_nanos ? settings->max_interval_nanos : (int64_t)grown;
}

int64_t retry_next(struct retry_state *s, const struct retry_settings *settings, int64_t now_nanos,
                   int64_t retry_after_nanos, double random)
{
    s->attempts++;
    if (!settings->enabled)
        return -1;
    // Spread over [1 - f, 1 + f] of the interval, so that many clients do not come back together.
    double factor = 1.0 - settings->randomization_factor + 2.0 * settings->randomization_factor * random;
    int64_t wait = (int64_t)((double)s->interval_nanos * factor);
    s->interval_nanos = next_interval(s, settings);
    if (wait < retry_after_nanos)
        wait = retry_after_nanos;
    int64_t elapsed = now_nanos - s->first_attempt_nanos;
    if (settings->max_elapsed_nanos != 0 && elapsed + wait > settings->max_elapsed_nanos)
        return -1;
    return wait;
}

// The three date forms of RFC 9110 §5.6.7, all GMT.
static bool parse_http_date(const char *text, int64_t *seconds_out)
{
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                        "%a %b %e %H:%M:%S %Y"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tm t = {0};
        const char *end = strptime(text, forms[i], &t);
        if (end != NULL && *end == '\0') {
            *seconds_out = (int64_t)timegm(&t);
            return true;
        }
    }
    return false;
}

int64_t retry_after_parse(const char *text, int64_t now_wall_nanos)
{
    if (text == NULL)
        return 0;
    int64_t seconds;
    if (!int64_parse(text, &seconds)) {
        if (!parse_http_date(text, &seconds))
            return 0;
        seconds -= now_wall_nanos / NANOS_PER_SECOND;
    }
    if (seconds <= 0)
        return 0;
    return (seconds > ONE_DAY_SECONDS ? ONE_DAY_SECONDS : seconds) * NANOS_PER_SECOND;
}
