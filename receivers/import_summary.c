// SPDX-License-Identifier: Apache-2.0
#include "receivers/import_summary.h"

#include "base/clean_text.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_COMPLAINTS = 50, BAR_WIDTH = 30, SHOW_EVERY_MS = 100 };

#define ONE_HOUR_NANOS (3600 * NANOS_PER_SECOND)

void import_summary_init(struct import_summary *s, bool dry_run, bool progress, bool hint_age)
{
    *s = (struct import_summary){
        .dry_run = dry_run,
        .progress = progress,
        .hint_age = hint_age,
        .started_nanos = clock_monotonic_nanos(&clock_system),
    };
}

static void clear_bar(const struct import_summary *s)
{
    if (s->progress && s->shown_nanos != 0)
        fprintf(stderr, "\r\033[K");
}

static void show_bar(struct import_summary *s)
{
    int64_t now = clock_monotonic_nanos(&clock_system);
    if (!s->progress || now - s->shown_nanos < SHOW_EVERY_MS * NANOS_PER_MS)
        return;
    char bar[BAR_WIDTH + 1], bytes[32];
    size_t full = s->found == 0 ? 0 : s->ended * BAR_WIDTH / s->found;
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', full);
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r\033[K[%s] %zu of %s, %s", bar, s->ended, TEXT_COUNT(s->found, "file"),
            text_bytes(bytes, sizeof bytes, s->bytes));
    fflush(stderr);
    s->shown_nanos = now;
}

static void on_found(void *arg, size_t files)
{
    struct import_summary *s = arg;
    s->found = files;
    if (files == 0)
        fprintf(stderr, "profrelay import: nothing is there: no file of that name, or an empty folder\n");
}

// Names of files and words of servers can neither forge lines nor steer a terminal.
static void print_clean(const char *text)
{
    struct buf clean;
    buf_init(&clean, 64 << 10);
    clean_text_add(&clean, bytes_from_text(text));
    fwrite(clean.data, 1, clean.len, stderr);
    buf_fini(&clean);
}

static void complain(struct import_summary *s, const struct profile_file *f, const char *what)
{
    clear_bar(s);
    if (s->complaints++ < MAX_COMPLAINTS) {
        fprintf(stderr, "%s: ", what);
        print_clean(f->path);
        fputs(": ", stderr);
        print_clean(f->e.text[0] != '\0' ? f->e.text : file_outcome_name(f->outcome));
        fputc('\n', stderr);
    } else if (s->complaints == MAX_COMPLAINTS + 1) {
        fprintf(stderr, "more files have errors; they are counted below\n");
    }
}

// Backends such as Pyroscope take nothing older than an hour: said once, where it can still be mended.
static void note_age(struct import_summary *s, const struct profile_file *f)
{
    int64_t age = clock_wall_nanos(&clock_system) - f->profile_time_nanos;
    if (!s->hint_age || s->old_seen || f->profiles == 0 || age < ONE_HOUR_NANOS)
        return;
    s->old_seen = true;
    clear_bar(s);
    int64_t hours = age / ONE_HOUR_NANOS;
    bool days = hours >= 48;
    fputs("hint: ", stderr);
    print_clean(f->path);
    fprintf(stderr,
            " is %" PRId64 " %s old; Pyroscope refuses profiles older than an hour by default: use --timestamp now "
            "for it\n",
            days ? hours / 24 : hours,
            days         ? "days"
            : hours == 1 ? "hour"
                         : "hours");
}

// Something else that lies in a folder is passed over; a file that was named, or a damaged profile, is an error.
static bool is_other_file(const struct profile_file *f, bool is_given)
{
    return f->outcome == FILE_INVALID && !is_given && f->e.code == ERR_UNSUPPORTED;
}

static void on_file(void *arg, const struct profile_file *f, bool is_given)
{
    struct import_summary *s = arg;
    s->ended++;
    if (is_other_file(f, is_given)) {
        s->skipped++;
        complain(s, f, "skipped");
        show_bar(s);
        return;
    }
    s->outcomes[f->outcome]++;
    if (f->outcome == FILE_SENT || f->outcome == FILE_PARTIAL) {
        s->profiles += f->profiles;
        s->samples += f->samples;
        s->bytes += f->file_bytes;
        note_age(s, f);
    }
    if (f->outcome != FILE_SENT && f->outcome != FILE_KNOWN)
        complain(s, f, f->outcome == FILE_PARTIAL ? "partly rejected" : "not sent");
    show_bar(s);
}

static int on_end(void *arg)
{
    return import_summary_exit_code(arg);
}

struct import_observer import_summary_observer(struct import_summary *s)
{
    return (struct import_observer){.on_found = on_found, .on_file = on_file, .on_end = on_end, .arg = s};
}

static size_t failed(const struct import_summary *s)
{
    return s->found - s->skipped - s->outcomes[FILE_SENT] - s->outcomes[FILE_PARTIAL] - s->outcomes[FILE_KNOWN];
}

void import_summary_print(const struct import_summary *s)
{
    static const struct {
        enum file_outcome outcome;
        const char *text;
    } reasons[] = {
        {FILE_INVALID, "not readable as a profile"},
        {FILE_UNREADABLE, "not readable at all"},
        {FILE_REFUSED, "refused by the peer"},
        {FILE_GAVE_UP, "not delivered in time"},
        {FILE_QUEUE_FULL, "no room in the sending queue"},
        {FILE_CHANGED, "changed while being read"},
        {FILE_BUSY, "too large for the memory limit"},
        {FILE_IN_FLIGHT, "same content still under way"},
    };
    char bytes[32];
    clear_bar(s);
    double seconds = (double)(clock_monotonic_nanos(&clock_system) - s->started_nanos) / (double)NANOS_PER_SECOND;
    printf("%s %zu of %s: %s, %s, %s in %.2f s\n", s->dry_run ? "would send" : "sent",
           s->outcomes[FILE_SENT] + s->outcomes[FILE_PARTIAL], TEXT_COUNT(s->found, "file"),
           TEXT_COUNT(s->profiles, "profile"), TEXT_COUNT(s->samples, "sample"),
           text_bytes(bytes, sizeof bytes, s->bytes), seconds);
    if (s->outcomes[FILE_KNOWN] != 0)
        printf("  %zu skipped: the same content was sent under another name\n", s->outcomes[FILE_KNOWN]);
    if (s->skipped != 0)
        printf("  %zu skipped: not profiles\n", s->skipped);
    if (s->outcomes[FILE_PARTIAL] != 0)
        printf("  %zu partly rejected by the peer\n", s->outcomes[FILE_PARTIAL]);
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (s->outcomes[reasons[i].outcome] != 0)
            printf("  %zu not sent: %s\n", s->outcomes[reasons[i].outcome], reasons[i].text);
    if (s->ended < s->found)
        printf("  %zu not tried: interrupted\n", s->found - s->ended);
}

int import_summary_exit_code(const struct import_summary *s)
{
    bool nothing = s->outcomes[FILE_SENT] == 0 && s->outcomes[FILE_KNOWN] == 0;
    return failed(s) == 0 && s->outcomes[FILE_PARTIAL] == 0 && !nothing ? 0 : 1;
}
