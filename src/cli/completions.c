/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/completions.h"

#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/settings.h"

/* The line is read word by word as it stands: bash parts its own words at colons, which servers and
 * credentials have in them. */
static const char opening[] =
    "# bash completion of pawl; made by `pawl completions bash`\n"
    "_pawl_paths() {\n"
    "    local folder=${1%/*} name\n"
    "    while IFS= read -r name; do\n"
    "        [[ $folder/$name == \"$1\"* ]] && COMPREPLY+=(\"$folder/$name\")\n"
    "    done < <(\"${pawl[@]}\" -C 5s ls \"${folder:-/}\" 2>/dev/null)\n"
    "    compopt -o nospace 2>/dev/null\n"
    "}\n"
    "\n"
    "_pawl() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} words cur command='' options i\n"
    "    read -ra words <<< \"$line\"\n"
    "    [[ $line == *' ' ]] && words+=('')\n"
    "    cur=${words[-1]}\n"
    "    local pawl=(\"${words[0]}\")\n"
    "    COMPREPLY=()\n"
    "    for ((i = 1; i < ${#words[@]} - 1; i++)); do\n"
    "        case ${words[i]} in\n";

static const char behind_settings[] = "            -*) ;;\n" /* --json is not for us */
                                      "            *) command=${words[i]}; break ;;\n"
                                      "        esac\n"
                                      "    done\n"
                                      "    if ((i >= ${#words[@]})); then\n"
                                      "        return\n"
                                      "    fi\n"
                                      "    case $command in\n";

static const char closing[] = "    esac\n"
                              "    if [[ $cur == -* ]]; then\n"
                              "        COMPREPLY=($(compgen -W \"$options --help\" -- \"$cur\"))\n"
                              "    elif [[ $cur == /* ]]; then\n"
                              "        _pawl_paths \"$cur\"\n"
                              "    fi\n"
                              "}\n"
                              "complete -F _pawl pawl\n";

static void print_option_words(const struct option_spec *specs)
{
    for (; specs->letter != 0; specs++) {
        printf("-%c --%s ", specs->letter, specs->name);
    }
}

void completions_print_settings(const char *between)
{
    const char *before = "";

    for (const struct option_spec *s = settings_options; s->letter != 0; s++) {
        if (s->value != NULL) {
            printf("%s-%c%s--%s", before, s->letter, between, s->name);
            before = between;
        }
    }
}

void completions_print_quoted(const char *text, const char *quote_inside)
{
    putchar('\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fputs(quote_inside, stdout);
        } else {
            putchar(*text);
        }
    }
    putchar('\'');
}

size_t completions_first_len(const struct command *c)
{
    return strcspn(c->name, " ");
}

bool completions_same_first(const struct command *a, const struct command *b)
{
    size_t len = completions_first_len(a);

    return len == completions_first_len(b) && memcmp(a->name, b->name, len) == 0;
}

bool completions_is_first(const struct command *const *all, size_t at)
{
    for (size_t before = 0; before < at; before++) {
        if (completions_same_first(all[before], all[at])) {
            return false;
        }
    }
    return true;
}

const char *completions_second(const struct command *c)
{
    size_t len = completions_first_len(c);

    return c->name[len] != '\0' ? c->name + len + 1 : NULL;
}

bool completions_is_group(const struct command *const *all, size_t n, const struct command *c)
{
    for (size_t i = 0; i < n; i++) {
        if (completions_same_first(all[i], c) && completions_second(all[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* ---- bash ---- */

/* The first words of all commands, each once. */
static void print_first_words(const struct command *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (completions_is_first(all, i)) {
            printf("%.*s ", (int)completions_first_len(all[i]), all[i]->name);
        }
    }
}

static void print_options_case(const char *pattern, const struct command *c)
{
    printf("%s) options=\"", pattern);
    print_option_words(c->options);
    puts("\" ;;");
}

/* "quota)": what can follow it. "locks" can stand alone as well. */
static void print_group(const struct command *const *all, size_t n, size_t at)
{
    printf("        %.*s)\n"
           "            if ((i + 2 == ${#words[@]})) && [[ $cur != [-/]* ]]; then\n"
           "                COMPREPLY=($(compgen -W \"",
           (int)completions_first_len(all[at]), all[at]->name);
    for (size_t i = at; i < n; i++) {
        if (completions_same_first(all[i], all[at]) && completions_second(all[i]) != NULL) {
            printf("%s ", completions_second(all[i]));
        }
    }
    puts("\" -- \"$cur\"))\n                return\n            fi\n"
         "            case ${words[i + 1]} in");
    for (size_t i = at; i < n; i++) {
        if (completions_same_first(all[i], all[at])) {
            printf("                ");
            print_options_case(
                completions_second(all[i]) != NULL ? completions_second(all[i]) : "*", all[i]);
        }
    }
    puts("            esac ;;");
}

static void print_commands(const struct command *const *all, size_t n)
{
    printf("        '')\n            options=\"");
    print_option_words(settings_options);
    printf("\"\n            [[ $cur == -* ]] || COMPREPLY=($(compgen -W \"");
    print_first_words(all, n);
    puts("\" -- \"$cur\")) ;;");
    for (size_t i = 0; i < n; i++) {
        bool is_first = completions_is_first(all, i);

        if (is_first && completions_is_group(all, n, all[i])) {
            print_group(all, n, i);
        } else if (is_first) {
            printf("        ");
            print_options_case(all[i]->name, all[i]);
        }
    }
}

void completions_bash(const struct command *const *all, size_t n)
{
    fputs(opening, stdout);
    printf("            ");
    completions_print_settings("|");
    puts(") pawl+=(\"${words[i]}\" \"${words[i + 1]}\"); ((i++)) ;;");
    fputs(behind_settings, stdout);
    print_commands(all, n);
    fputs(closing, stdout);
}

/* ---- the command ---- */

static const struct {
    const char *name;
    void (*print)(const struct command *const *all, size_t n);
} shells[] = {{"bash", completions_bash}, {"zsh", completions_zsh}, {"fish", completions_fish}};

static int run_completions(struct cli *cli, const struct args *args)
{
    size_t n;
    const struct command *const *all = commands_all(&n);

    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(args->words[0], shells[i].name) == 0) {
            shells[i].print(all, n);
            return EXIT_OK;
        }
    }
    cli_error(cli, "there are completions for bash, zsh and fish, not for '%s'", args->words[0]);
    return EXIT_USAGE;
}

static const struct option_spec completions_options[] = {{0, NULL, NULL, NULL}};

const struct command command_completions = {
    .name = "completions",
    .synopsis = "bash|zsh|fish",
    .summary = "print what a shell needs to complete commands, options and paths",
    .options = completions_options,
    .min_words = 1,
    .max_words = 1,
    .opens_itself = true,
    .run = run_completions};
