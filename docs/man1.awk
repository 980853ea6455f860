# SPDX-License-Identifier: Apache-2.0
# man1.awk - the manual page of one command: -v name='barrier meet' -v page=pawl-barrier-meet -v day=...,
# its --help as the first file, pawl.1 as the second.

BEGIN {
    n_words = split(name, word, " ")
    # Where pawl.1 tells of a command in a section of its own.
    section["lock"] = "A command under a lock"
    section["locks"] = section["locks why"] = section["locks gc"] = "Who has a lock"
    section["lead"] = "A command where leadership is"
}

# ---- --help: a line of usage, a sentence, options ----

function plain(text)
{
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    sub(/^['.]/, "\\\\\\&&", text)
    return text
}

FNR == NR && /^usage: / {
    usage = usage substr($0, 8) "\n"
    next
}

FNR == NR && /^       [^ ]/ && summary == "" {
    usage = usage substr($0, 8) "\n"
    next
}

FNR == NR && /^  -/ {
    left = substr($0, 3)
    text = ""
    if (match(left, /   *[^ ].*$/)) {
        text = substr(left, RSTART)
        left = substr(left, 1, RSTART - 1)
        sub(/^ */, "", text)
    }
    options = options ".It " plain(left) "\n" plain(text) "\n"
    next
}

FNR == NR && /^      / {
    text = $0
    sub(/^ */, "", text)
    options = options plain(text) "\n"
    next
}

FNR == NR && !/^The options of pawl itself/ && NF > 0 {
    if (summary == "") {
        summary = $0
    } else {
        more = more plain($0) "\n"
    }
    next
}

FNR == NR { next }

# ---- pawl.1: the item of the command, or its section ----

function names_us(line)
{
    if (line ~ ("^\\.It Cm " name "( |$)") || line ~ ("; Cm " name "( |$)")) {
        return 1
    }
    if (n_words == 2) { # server start | stop | ...
        return line ~ ("^\\.It Cm " word[1] " [^;]*\\| " word[2] "( |$)")
    }
    return 0
}

/^\.Sh / {
    in_exit = $0 == ".Sh EXIT STATUS"
    in_section = is_ours = 0
}

/^\.Ss / {
    in_section = name in section && $0 == ".Ss " section[name]
    is_ours = depth = 0
    next
}

/^\.Nm$/ { $0 = ".Nm pawl" }

in_exit && !/^\.Sh / { exits = exits $0 "\n" }

in_section { about = about $0 "\n"; next }

/^\.Bl / { depth++ }

/^\.El/ {
    depth--
    if (depth == 0) {
        is_ours = 0
    }
}

# Items one below the other share what follows.
/^\.It / && depth == 1 {
    if (!was_item) {
        is_ours = 0
    }
    if (names_us($0)) {
        is_ours = 1
    }
    was_item = 1
    next
}

{ was_item = 0 }

is_ours { about = about $0 "\n" }

# ----

END {
    print ".\\\" SPDX-License-Identifier: Apache-2.0"
    print ".\\\" Made by docs/man1.sh."
    print ".Dd " day
    print ".Dt " toupper(page) " 1"
    print ".Os"
    print ".Sh NAME"
    print ".Nm " page
    print ".Nd " plain(summary)
    print ".Sh SYNOPSIS"
    print ".Bd -literal"
    printf "%s", plain(usage)
    print ".Ed"
    print ".Sh DESCRIPTION"
    print ".Nm pawl Cm " name ":"
    print plain(summary) "."
    if (more != "") {
        printf "%s", more
    }
    if (about != "") {
        print ".Pp"
        printf "%s", about
    }
    if (options != "" && name != "lock") { # whose section has them
        print ".Ss Options"
        print ".Bl -tag -width Ds"
        printf "%s", options
        print ".El"
    }
    print ".Pp"
    print "The options of"
    print ".Xr pawl 1"
    print "itself, such as"
    print ".Fl s"
    print "for the server and"
    print ".Fl j"
    print "for JSON, come before the command."
    print ".Sh EXIT STATUS"
    printf "%s", exits
    print ".Sh SEE ALSO"
    print ".Xr pawl 1"
}
