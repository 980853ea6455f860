/* SPDX-License-Identifier: Apache-2.0 */
/* completions_fish.c - lines of `complete` for fish, and the functions that they ask. */
#include <stdio.h>

#include "cli/completions.h"
#include "cli/settings.h"

static const char opening[] =
    "# fish completion of pawl; made by `pawl completions fish`\n"
    "# What stands before the word: pawl with its settings, and the command with its words.\n"
    "function __pawl_split\n"
    "    set -l words (commandline -opc)\n"
    "    set -g __pawl_call $words[1]\n"
    "    set -g __pawl_rest\n"
    "    set -l i 2\n"
    "    while test $i -le (count $words)\n"
    "        switch $words[$i]\n"
    "            case ";

static const char behind_settings[] =
    "\n"
    "                test (math $i + 1) -le (count $words); or return 1\n"
    "                set -a __pawl_call $words[$i] $words[(math $i + 1)]\n"
    "                set i (math $i + 2)\n"
    "            case '-*'\n"
    "                set i (math $i + 1)\n"
    "            case '*'\n"
    "                set __pawl_rest $words[$i..-1]\n"
    "                return 0\n"
    "        end\n"
    "    end\n"
    "end\n"
    "\n"
    "function __pawl_is_first\n"
    "    __pawl_split; and test (count $__pawl_rest) -eq 0\n"
    "end\n"
    "\n"
    "function __pawl_is_second\n"
    "    __pawl_split; and test (count $__pawl_rest) -eq 1 -a \"$__pawl_rest[1]\" = $argv[1]\n"
    "end\n"
    "\n"
    "function __pawl_is_at\n"
    "    __pawl_split; or return 1\n"
    "    for i in (seq (count $argv))\n"
    "        test \"$__pawl_rest[$i]\" = $argv[$i]; or return 1\n"
    "    end\n"
    "end\n"
    "\n"
    "function __pawl_paths\n"
    "    __pawl_split; or return\n"
    "    set -l word (commandline -ct)\n"
    "    string match -q '/*' -- $word; or return\n"
    "    set -l folder (string replace -r '/[^/]*$' '' -- $word)\n"
    "    set -l top $folder\n"
    "    test -n \"$top\"; or set top /\n"
    "    for name in (command $__pawl_call -C 5s ls $top 2>/dev/null)\n"
    "        echo $folder/$name\n"
    "    end\n"
    "end\n"
    "\n"
    "complete -c pawl -e\n"
    "complete -c pawl -f\n"
    "complete -c pawl -n 'not __pawl_is_first' -a '(__pawl_paths)'\n";

static void print_described(const char *text)
{
    printf(" -d ");
    completions_print_quoted(text, "\\'");
    putchar('\n');
}

static void print_options(const char *condition, const char *name, const struct option_spec *specs)
{
    for (; specs->letter != 0; specs++) {
        printf("complete -c pawl -n '%s%s' -s %c -l %s%s", condition, name, specs->letter,
               specs->name, specs->value != NULL ? " -x" : "");
        print_described(specs->help);
    }
}

static void print_second_words(const struct command *const *all, size_t n, size_t at)
{
    for (size_t i = at; i < n; i++) {
        if (completions_same_first(all[i], all[at]) && completions_second(all[i]) != NULL) {
            printf("complete -c pawl -n '__pawl_is_second %.*s' -a %s",
                   (int)completions_first_len(all[i]), all[i]->name, completions_second(all[i]));
            print_described(all[i]->summary);
        }
    }
}

void completions_fish(const struct command *const *all, size_t n)
{
    fputs(opening, stdout);
    completions_print_settings(" ");
    fputs(behind_settings, stdout);
    print_options("__pawl_is_first", "", settings_options);
    for (size_t i = 0; i < n; i++) {
        if (completions_is_first(all, i)) {
            printf("complete -c pawl -n __pawl_is_first -a %.*s",
                   (int)completions_first_len(all[i]), all[i]->name);
            print_described(all[i]->summary);
            print_second_words(all, n, i);
        }
        print_options("__pawl_is_at ", all[i]->name, all[i]->options);
    }
}
