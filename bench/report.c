// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include <stdio.h>
#include <string.h>

// The bench is one process with one report.
static struct {
    bool json, any;
    int failed;
    char group[64];
} report;

void report_begin(bool json)
{
    report.json = json;
    if (json)
        printf("[\n");
}

static bool holds(const struct row *r)
{
    return r->limit == 0 || (r->at_least ? r->value >= r->limit : r->value <= r->limit);
}

static void print_text(const struct row *r)
{
    if (strcmp(report.group, r->group) != 0) {
        snprintf(report.group, sizeof report.group, "%s", r->group);
        printf("\n%s\n", r->group);
    }
    printf("  %-28s %-30s %12.4g", r->input, r->metric, r->value);
    if (r->limit != 0)
        printf("   %s %g: %s", r->at_least ? "at least" : "at most", r->limit, holds(r) ? "holds" : "DOES NOT HOLD");
    printf("\n");
    fflush(stdout);
}

void report_row(const struct row *r)
{
    if (!holds(r))
        report.failed = 1;
    if (!report.json) {
        print_text(r);
        return;
    }
    printf("%s  {\"group\": \"%s\", \"input\": \"%s\", \"metric\": \"%s\", \"value\": %.6g", report.any ? ",\n" : "",
           r->group, r->input, r->metric, r->value);
    if (r->limit != 0)
        printf(", \"%s\": %g, \"holds\": %s", r->at_least ? "at_least" : "at_most", r->limit,
               holds(r) ? "true" : "false");
    printf("}");
    report.any = true;
}

int report_end(void)
{
    if (report.json)
        printf("\n]\n");
    return report.failed;
}
