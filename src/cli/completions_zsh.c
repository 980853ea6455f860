/* SPDX-License-Identifier: Apache-2.0 */
/* completions_zsh.c - a function for zsh's completion system (zshcompsys(1)). */
#include <stdio.h>

#include "cli/completions.h"
#include "cli/settings.h"

static const char opening[] =
    "#compdef pawl\n"
    "# zsh completion of pawl; made by `pawl completions zsh`\n"
    "_pawl_paths() {\n"
    "    local folder=${PREFIX%/*}\n"
    "    local -a names\n"
    "    names=(${(f)\"$(\"${pawl[@]}\" -C 5s ls \"${folder:-/}\" 2>/dev/null)\"})\n"
    "    (( $#names )) && compadd -Q -S '' -- \"$folder/\"${(q)^names}\n"
    "}\n"
    "\n"
    "_pawl() {\n"
    "    local -a pawl found\n"
    "    local command=''\n"
    "    integer i=2\n"
    "    pawl=(\"${(Q)words[1]}\")\n"
    "    while (( i < CURRENT )); do\n"
    "        case $words[i] in\n";

static const char behind_settings[] = "            (-*) (( i++ )) ;;\n" /* --json is not for us */
                                      "            (*) command=$words[i]; break ;;\n"
                                      "        esac\n"
                                      "    done\n"
                                      "    (( i <= CURRENT )) || return 1\n"
                                      "    case $command in\n";

static const char closing[] = "    esac\n"
                              "    if [[ $PREFIX == -* ]]; then\n"
                              "        found+=('--help:say more of it')\n"
                              "        _describe -o option found\n"
                              "    elif [[ $PREFIX == /* ]]; then\n"
                              "        _pawl_paths\n"
                              "    fi\n"
                              "}\n"
                              "\n"
                              "if [[ $funcstack[1] == _pawl ]]; then\n"
                              "    _pawl \"$@\"\n"
                              "else\n"
                              "    compdef _pawl pawl\n"
                              "fi\n";

/* 'NAME:what it is', for _describe: a colon ends the name. */
static void print_described(const char *before, int name_len, const char *name, const char *what)
{
    printf("%s%.*s:", before, name_len, name);
    completions_print_quoted(what, "'\\''");
    putchar(' ');
}

static void print_options(const struct option_spec *specs)
{
    char letter[3] = "-";

    printf("found=(");
    for (; specs->letter != 0; specs++) {
        letter[1] = specs->letter;
        print_described("", 2, letter, specs->help);
        print_described("--", 64, specs->name, specs->help);
    }
    printf(") ;;\n");
}

/* What can follow it, and the options of each. "locks" can stand alone as well. */
static void print_group(const struct command *const *all, size_t n, size_t at)
{
    printf("        (%.*s)\n"
           "            if (( i + 1 == CURRENT )) && [[ $PREFIX != [-/]* ]]; then\n"
           "                found=(",
           (int)completions_first_len(all[at]), all[at]->name);
    for (size_t i = at; i < n; i++) {
        if (completions_same_first(all[i], all[at]) && completions_second(all[i]) != NULL) {
            print_described("", 64, completions_second(all[i]), all[i]->summary);
        }
    }
    puts(")\n                _describe command found\n                return\n            fi\n"
         "            case $words[i+1] in");
    for (size_t i = at; i < n; i++) {
        if (completions_same_first(all[i], all[at])) {
            printf("                (%s) ",
                   completions_second(all[i]) != NULL ? completions_second(all[i]) : "*");
            print_options(all[i]->options);
        }
    }
    puts("            esac ;;");
}

static void print_first_words(const struct command *const *all, size_t n)
{
    printf("        ('')\n"
           "            if [[ $PREFIX != -* ]]; then\n"
           "                found=(");
    for (size_t i = 0; i < n; i++) {
        if (completions_is_first(all, i)) {
            print_described("", (int)completions_first_len(all[i]), all[i]->name, all[i]->summary);
        }
    }
    printf(")\n                _describe command found\n                return\n            fi\n"
           "            ");
    print_options(settings_options);
}

void completions_zsh(const struct command *const *all, size_t n)
{
    fputs(opening, stdout);
    printf("            (");
    completions_print_settings("|");
    puts(") pawl+=(\"${(Q)words[i]}\" \"${(Q)words[i+1]}\"); (( i += 2 )) ;;");
    fputs(behind_settings, stdout);
    print_first_words(all, n);
    for (size_t i = 0; i < n; i++) {
        if (completions_is_first(all, i) && completions_is_group(all, n, all[i])) {
            print_group(all, n, i);
        } else if (completions_is_first(all, i)) {
            printf("        (%s) ", all[i]->name);
            print_options(all[i]->options);
        }
    }
    fputs(closing, stdout);
}
