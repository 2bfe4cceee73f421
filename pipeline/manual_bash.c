// SPDX-License-Identifier: Apache-2.0
// Completion for bash: one function, made from the tables of the commands. It needs nothing but bash.
#include "pipeline/manual.h"

static void print_words(const struct option *o, FILE *out)
{
    char word[64];
    for (size_t i = 0; option_choice(o, i, word, sizeof word); i++)
        fprintf(out, "%s%s", i == 0 ? "" : " ", word);
}

static void print_names(const struct option *o, FILE *out)
{
    if (o->letter != 0)
        fprintf(out, "-%c | ", o->letter);
    fprintf(out, "--%s", o->name);
}

// What may stand behind an option: files, words, or anything.
static void print_value(const struct option *o, FILE *out)
{
    fprintf(out, "        ");
    print_names(o, out);
    fprintf(out, o->files ? ") files=1; words=" : ") words='");
    if (!o->files)
        print_words(o, out);
    fprintf(out, o->files ? " ;;\n" : "' ;;\n");
}

static void print_arguments(const struct program *p, const struct command *c, FILE *out)
{
    fprintf(out, "        *) files=%d; words='", c->files ? 1 : 0);
    const char *word = NULL;
    for (size_t i = 0; c->word != NULL && (word = c->word(p, i)) != NULL; i++)
        fprintf(out, "%s%s", i == 0 ? "" : " ", word);
    fprintf(out, "'\n            options='");
    for (size_t i = 0; i < c->options.count; i++)
        fprintf(out, "--%s ", c->options.rows[i].name);
    fprintf(out, "--help' ;;\n");
}

static void print_command(const struct program *p, const struct command *c, FILE *out)
{
    fprintf(out, "    %s)\n        case $before in\n", c->name);
    for (size_t i = 0; i < c->options.count; i++)
        if (c->options.rows[i].value != NULL)
            print_value(&c->options.rows[i], out);
    print_arguments(p, c, out);
    fprintf(out, "        esac ;;\n");
}

// bash splits "--name=value" into three words.
static const char begin[] =
    "# SPDX-License-Identifier: Apache-2.0\n"
    "# bash completion of profrelay " PROFRELAY_VERSION "; made by: profrelay completion bash\n"
    "_profrelay() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
    "    local files=0 words='' options=''\n"
    "    COMPREPLY=()\n"
    "    if [[ $current == '=' ]]; then\n"
    "        current=''\n"
    "    elif [[ $before == '=' ]] && ((COMP_CWORD > 1)); then\n"
    "        before=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n";

static const char end[] = "    esac\n"
                          "    [[ $current == -* ]] && words=$options\n"
                          "    if [[ -n $words ]]; then\n"
                          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                          "    fi\n"
                          "    if ((files)) && [[ $current != -* || -z $options ]]; then\n"
                          "        compopt -o filenames 2>/dev/null\n"
                          "        mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"$current\")\n"
                          "    fi\n"
                          "}\n"
                          "complete -F _profrelay profrelay\n";

void manual_print_bash(const struct program *p, FILE *out)
{
    fputs(begin, out);
    fprintf(out, "    ((COMP_CWORD == 1)) && command=''\n"
                 "    [[ $command == -* ]] && command=run\n"
                 "    case $command in\n    '') words='");
    for (const struct command *const *c = p->commands; *c != NULL; c++)
        fprintf(out, "%s ", (*c)->name);
    fprintf(out, "' options='--config --set --version --help' ;;\n");
    for (const struct command *const *c = p->commands; *c != NULL; c++)
        print_command(p, *c, out);
    fputs(end, out);
}
