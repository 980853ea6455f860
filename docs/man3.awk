# SPDX-License-Identifier: Apache-2.0
# man3.awk - one header of include/pawl as a manual page in mdoc; run by man3.sh.
#
# What it goes by:
#   the first comment     "client.h - what it is", then the description
#   /* ---- title ---- */ begins a part
#   a comment above a declaration, without an empty line between, is about that declaration and
#                         all that follow it up to the next empty line; functions defined in a
#                         header without one are its own business
# Inside comments an empty line ends a paragraph, "- " begins an item of a list, a line in capitals
# is a title, and what is indented is shown as it is.

function escape(s)
{
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    return s
}

function in_prose(s)
{
    gsub(/\\/, "\\e", s)
    s = emphasize(s, "`[^`]*`", 1)
    s = emphasize(s, "pawl_[a-z_]+\\(\\)", 0)
    return sentences(s ~ /^[.']/ ? "\\&" s : s)
}

# mdoc wants every sentence to begin a line.
function sentences(s,    done)
{
    done = ""
    while (match(s, /[^ .][.?] [A-Z\\]/)) {
        done = done substr(s, 1, RSTART + 1) "\n"
        s = substr(s, RSTART + 3)
    }
    return done s
}

# Sets what matches in bold, without its first and last `trim` characters.
function emphasize(s, pattern, trim,    done)
{
    done = ""
    while (match(s, pattern)) {
        done = done substr(s, 1, RSTART - 1) "\\fB" \
               substr(s, RSTART + trim, RLENGTH - 2 * trim) "\\fP"
        s = substr(s, RSTART + RLENGTH)
    }
    return done s
}

# ---- prose ----

function leave(    was)
{
    if (shape == "literal") {
        print ".Ed"
    } else if (shape == "list") {
        print ".El"
    }
    shape = ""
}

function enter(next_shape)
{
    if (shape == next_shape) {
        return
    }
    leave()
    if (next_shape == "literal") {
        print ".Bd -literal -offset indent"
    } else if (next_shape == "list") {
        print ".Bl -bullet -width 1n"
    }
    shape = next_shape
    empty = 0
}

function prose_line(s)
{
    if (s == "") {
        empty = 1
        return
    }
    if (s ~ /^- /) {
        enter("list")
        print ".It"
        print in_prose(substr(s, 3))
    } else if (s ~ /^  / && shape == "list") {
        print in_prose(substr(s, 3))
    } else if (s ~ /^  /) {
        if (shape == "literal" && empty) {
            print ""
        }
        enter("literal")
        if (!sub(/^    /, "", s)) {
            sub(/^  /, "", s)
        }
        print (s ~ /^[.']/ ? "\\&" : "") escape(s)
    } else if (s ~ /^[A-Z][A-Z ]+$/) {
        leave()
        print ".Ss " capital(tolower(s))
        fresh = 1
    } else {
        if (shape != "") {
            leave()
            empty = 1
        }
        if (empty && !fresh) {
            print ".Pp"
        }
        print in_prose(s)
        fresh = 0
    }
    empty = 0
}

function capital(s)
{
    return toupper(substr(s, 1, 1)) substr(s, 2)
}

# `first` is the first line that counts; "fresh" is just below a title, where .Pp would be too much.
function print_prose(first,    i)
{
    shape = ""
    empty = 1
    for (i = first; i <= n_comment; i++) {
        prose_line(comment[i])
    }
    leave()
    fresh = 0
}

# ---- declarations ----

function print_code(    i)
{
    print ".Bd -literal"
    for (i = 1; i <= n_code; i++) {
        print (code[i] ~ /^[.']/ ? "\\&" : "") escape(code[i])
    }
    print ".Ed"
    fresh = 0
}

function note_functions(    i, s, name)
{
    for (i = 1; i <= n_code; i++) {
        s = code[i]
        if (s !~ /^[a-z]/ || s ~ /^typedef/ || !match(s, /pawl_[a-z_]+\(/)) {
            continue
        }
        name = substr(s, RSTART, RLENGTH - 1)
        if (index(" " pages " ", " " name " ") == 0) {
            print ".so man3/" page ".3" > (out "/" name ".3")
            close(out "/" name ".3")
        }
    }
}

# A comment and the declarations it is about, whichever of the two there are.
function flush()
{
    if (n_comment == 0 && n_code == 0) {
        return
    }
    if (!has_head) {
        print_head()
    } else if (n_comment > 0 && comment[1] ~ /^---- .* ----$/) {
        print_title()
    } else if (n_comment > 0 || !has_inline) {
        if (n_code > 0) {
            print_code()
        }
        print_prose(1)
        note_functions()
    }
    n_comment = n_code = has_inline = 0
}

function print_title(    s)
{
    s = comment[1]
    gsub(/^---- | ----$/, "", s)
    print ".Ss " capital(s)
    fresh = 1
    print_prose(2)
    if (n_code > 0) {
        print_code()
        note_functions()
    }
}

function print_head(    what)
{
    has_head = 1
    what = comment[1]
    sub(/^[a-z]+\.h - /, "", what)
    sub(/\.$/, "", what)
    print ".\\\" SPDX-License-Identifier: Apache-2.0"
    print ".\\\" Made from include/pawl/" header "; change that."
    print ".Dd " day
    print ".Dt " toupper(page) " 3"
    print ".Os"
    print ".Sh NAME"
    print ".Nm " page
    print ".Nd " in_prose(what)
    print ".Sh LIBRARY"
    print "libpawl: cc ... $(pkg\\-config \\-\\-cflags \\-\\-libs pawl)"
    print ".Sh SYNOPSIS"
    print ".In pawl/" header
    print ".Sh DESCRIPTION"
    fresh = 1
    if (n_comment > 1) {
        print_prose(2)
    } else if (page == "pawl") {
        print_contents()
    } else {
        print "What follows are the declarations of the header and what it says about them."
    }
}

# The header that includes all others: what there is.
function print_contents(    n, names, paths, i, text)
{
    print "Includes all headers but the adapters, which need the library they are for:"
    print ".Bl -tag -width Ds"
    n = split(pages, names, " ")
    split(files, paths, " ")
    for (i = 1; i <= n; i++) {
        if (names[i] == page) {
            continue
        }
        while ((getline text < paths[i]) > 0 && text !~ /\.h - /) {
        }
        close(paths[i])
        sub(/^.*\.h - /, "", text)
        sub(/\.?( \*\/)?$/, "", text)
        print ".It Xr " names[i] " 3"
        print in_prose(text)
    }
    print ".El"
}

# ---- reading ----

function add_comment(s)
{
    sub(/[ \t]*\*\/[ \t]*$/, "", s)
    sub(/[ \t]+$/, "", s)
    comment[++n_comment] = s
}

function depth_change(s,    opened)
{
    gsub(/\/\*.*/, "", s)
    opened = gsub(/{/, "", s)
    return opened - gsub(/}/, "", s)
}

/SPDX-License-Identifier/ { next }

# Only for the compiler.
/^#ifdef __cplusplus/ { in_cplusplus = 1 }
in_cplusplus { if (/^#endif/) { in_cplusplus = 0 } next }
/^#(ifndef|define) PAWL_.*_H$/ || /^#include/ || /^#(if|else|endif|undef)/ { next }

# Of functions in the header itself, their heads.
in_body { if (/^}/) { in_body = 0 } next }
/^{$/ && is_inline {
    sub(/$/, ";", code[n_code])
    in_body = 1
    is_inline = 0
    next
}

in_comment {
    ended = /\*\//
    sub(/^ \*\/?[ ]?/, "")
    if (!ended || $0 != "") {
        add_comment($0)
    }
    in_comment = !ended
    next
}

depth == 0 && /^\/\*/ {
    flush()
    in_comment = !/\*\//
    sub(/^\/\*[ ]?/, "")
    add_comment($0)
    next
}

depth == 0 && /^$/ {
    flush()
    next
}

{
    if (sub(/^static inline /, "")) {
        is_inline = has_inline = 1
        cut = "               "
    } else if (sub(/^PAWL_API /, "")) {
        cut = "         "
    } else if (/^ / && depth == 0) {
        sub("^" cut, "") # the rest of a declaration moves with its beginning
    } else {
        cut = ""
    }
    code[++n_code] = $0
    depth += depth_change($0)
}

END {
    flush()
    print ".Sh SEE ALSO"
    n = split(pages, names, " ")
    for (i = 1; i <= n; i++) {
        if (names[i] != page) {
            print ".Xr " names[i] " 3 ,"
        }
    }
    print ".Xr pawld 8"
}
