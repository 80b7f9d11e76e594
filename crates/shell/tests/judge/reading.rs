//! How commands are read: variables, double expansion, ambiguity.

use super::all;

#[test]
fn variables_are_followed() {
    all(
        "denied",
        &[
            "g=git; $g push",
            "g=gi; ${g}t push",
            "x='git push'; $x",
            "a=(git push); ${a[*]}",
            "a[0]=git a[1]=push; \"${a[@]}\"",
            "printf -v g git; $g push",
            "read g <<< git; $g push",
            "IFS=,; x=git,push; $x",
            "set -- x push; shift; git $1",
            "for c in log push; do git $c; done",
            "x=push; git \"${x:-log}\"",
            "x=git_push; ${x/_/ }",
            "x=xgit; ${x#x} push",
            "x=GIT; ${x,,} push",
            "x=digits; ${x:2:3} status; git push",
            "g=git p=push; eval \"$g $p\"",
            "y=x x=git; ${!y} push",
            "export g=git; sh -c '$g push'",
            "f() { git \"$@\"; }; f push",
            "f() { g=git; }; f; $g push",
            "echo push > a; git $(<a)",
            "alias git=echo; git push",
            "hash -p /bin/echo git; git push",
            "x=log; eval x=push; git $x",
            "x=log; read x <<< push; git $x",
            "PS4='$(git push)'; set -x; ls",
            "echo log push | xargs -n1 git",
            "echo log -1 push x | xargs -n 2 git",
            "printf 'echo\\ngit push\\n' | xargs -I% sh -c %",
            "echo git push | tac | sh",
            "git $({ echo push > /dev/stderr; } 2>&1)",
            "git $({ echo push > /dev/fd/3; } 3>&1)",
            "while read -r l; do $l; done <<< 'git push'",
            "type -p git | { read g; $g push; }",
        ],
    );
}

#[test]
fn a_variable_that_may_be_another_is_unknown() {
    all(
        "risky",
        &[
            "git $(<a)",
            "$(<a)",
            "declare -n x=log; log=push; git $x",
            "x=log; getopts a x; git $x",
            "BASH_CMDS[ls]=/usr/bin/git; ls push",
            "echo 'echo git push' | tail -c 9 | sh",
            "echo 'echo git push' | grep -o 'git.*' | sh",
            "printf 'cat <<E\\ngit push\\nE\\n' | grep -v E | sh",
            "printf 'E\\ngit push\\ncat <<E\\n' | tac | sh",
            "echo bHM= | base64 -d x | sh",
            "echo ls | rev x | sh",
            "echo 'xgit push' | sed s/x// | sh",
            "echo git push | dd 2>/dev/null | sh",
            "gzip -dc x.gz | sh",
            "tar xOf x.tar run.sh | sh",
            "sed -n 1p x > a; git $(cat a)",
            "echo log > a; sed -i s/log/push/ a; git $(cat a)",
            "alias p=push; git $(alias p)",
            "git $(declare -p x)",
            "git $(trap -p)",
            "g=echo; true && g=git; $g push",
            "g=echo; if x; then g=git; fi; $g push",
            "g=echo; echo | g=git; $g push",
            "g=echo; while read l; do $g push; g=git; done",
            "case x in a) g=git;; b) g=echo;; esac; $g push",
        ],
    );
    all(
        "denied",
        &[
            "g=git; (g=echo); $g push",
            "g=git; x=$(g=echo) ; $g push",
            "$x git push",
            "git pu${x}sh",
            "git $x push",
        ],
    );
}

#[test]
fn text_that_is_expanded_twice_is_read_twice() {
    all(
        "denied",
        &[
            "x='a[$(git push)]'; (( x ))",
            "x='$(git push)'; echo \"${x@P}\"",
            "test -v 'a[$(git push)]'",
            "echo $(( a[$(git push)] ))",
            "let 'a[$(git push)]=1'",
            "[[ -v 'a[$(git push)]' ]]",
            "unset 'a[$(git push)]'",
        ],
    );
}

#[test]
fn two_readers_have_to_agree() {
    all(
        "denied",
        &[
            "echo \\$'\\' ; git push #'",
            "echo $$'\\' ; git push #'",
            "cat <<\"E\\OF\"\nE\\OF\ngit push\nEOF",
            "cat <<EOF\nx\\\nEOF\ngit push\nEOF",
            "( (git push) )",
            "((git push) )",
            "!(git push)",
            "echo \"$(case x in x) git push;; esac)\"",
            "echo $(true # )\ngit push\n)",
            "echo a &\\\n& git push",
            "g\\\nit push",
            "echo ${ git push; }",
            "sh -c '((git push))'",
            "${x:-sh -c 'git push'}",
            "${x:-cat <(git push)}",
        ],
    );
}
