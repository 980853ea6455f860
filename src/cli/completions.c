/* SPDX-License-Identifier: Apache-2.0 */
/* completions.c - what a shell needs to complete the words of `pawl`: commands and options from the
 * table, paths from the server. */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/commands.h"
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

/* -s SERVER and the like: two words. */
static void print_settings_with_values(void)
{
    const char *between = "";

    printf("            ");
    for (const struct option_spec *s = settings_options; s->letter != 0; s++) {
        if (s->value != NULL) {
            printf("%s-%c|--%s", between, s->letter, s->name);
            between = "|";
        }
    }
    puts(") pawl+=(\"${words[i]}\" \"${words[i + 1]}\"); ((i++)) ;;");
}

static size_t first_len(const struct command *c)
{
    return strcspn(c->name, " ");
}

static bool is_same_first(const struct command *a, const struct command *b)
{
    return first_len(a) == first_len(b) && memcmp(a->name, b->name, first_len(a)) == 0;
}

/* The first words of all commands, each once. */
static void print_first_words(const struct command *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t before = 0;

        while (before < i && !is_same_first(all[before], all[i])) {
            before++;
        }
        if (before == i) {
            printf("%.*s ", (int)first_len(all[i]), all[i]->name);
        }
    }
}

/* "why" of "locks why"; NULL: it is one word. */
static const char *second_word(const struct command *c)
{
    return c->name[first_len(c)] != '\0' ? c->name + first_len(c) + 1 : NULL;
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
           (int)first_len(all[at]), all[at]->name);
    for (size_t i = at; i < n; i++) {
        if (is_same_first(all[i], all[at]) && second_word(all[i]) != NULL) {
            printf("%s ", second_word(all[i]));
        }
    }
    puts("\" -- \"$cur\"))\n                return\n            fi\n"
         "            case ${words[i + 1]} in");
    for (size_t i = at; i < n; i++) {
        if (is_same_first(all[i], all[at])) {
            printf("                ");
            print_options_case(second_word(all[i]) != NULL ? second_word(all[i]) : "*", all[i]);
        }
    }
    puts("            esac ;;");
}

static bool is_in_group(const struct command *const *all, size_t n, const struct command *c)
{
    for (size_t i = 0; i < n; i++) {
        if (is_same_first(all[i], c) && second_word(all[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void print_commands(const struct command *const *all, size_t n)
{
    printf("        '')\n            options=\"");
    print_option_words(settings_options);
    printf("\"\n            [[ $cur == -* ]] || COMPREPLY=($(compgen -W \"");
    print_first_words(all, n);
    puts("\" -- \"$cur\")) ;;");
    for (size_t i = 0; i < n; i++) {
        size_t before = 0;

        while (before < i && !is_same_first(all[before], all[i])) {
            before++;
        }
        if (before == i && is_in_group(all, n, all[i])) {
            print_group(all, n, i);
        } else if (before == i) {
            printf("        ");
            print_options_case(all[i]->name, all[i]);
        }
    }
}

static int run_completions(struct cli *cli, const struct args *args)
{
    size_t n;
    const struct command *const *all = commands_all(&n);

    if (strcmp(args->words[0], "bash") != 0) {
        cli_error(cli, "there are completions for bash, not for '%s'", args->words[0]);
        return EXIT_USAGE;
    }
    fputs(opening, stdout);
    print_settings_with_values();
    fputs(behind_settings, stdout);
    print_commands(all, n);
    fputs(closing, stdout);
    return EXIT_OK;
}

static const struct option_spec completions_options[] = {{0, NULL, NULL, NULL}};

const struct command command_completions = {
    .name = "completions",
    .synopsis = "bash",
    .summary = "print what bash needs to complete commands, options and paths",
    .options = completions_options,
    .min_words = 1,
    .max_words = 1,
    .opens_itself = true,
    .run = run_completions};
