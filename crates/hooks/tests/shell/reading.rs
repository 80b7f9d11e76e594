//! How commands are read: variables, double expansion, ambiguity, limits.

use super::{all, judged, reason, word};

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
        ],
    );
}

#[test]
fn a_variable_that_may_be_another_is_unknown() {
    all(
        "risky",
        &[
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

#[test]
fn what_cannot_be_read_is_refused() {
    all(
        "denied",
        &["echo 'x", "echo $(", "if true", "git log <<EOF", "a\0b", "a\u{1}b", "echo )", "99999999999>x"],
    );
    assert!(reason("echo 'x").starts_with("could not be read as a shell command: "));
    assert!(reason("echo 'x").ends_with("; split it up"));
}

#[test]
fn limits_are_checked_before_parsing() {
    assert!(reason(&format!("echo {}", "x".repeat(32 * 1024))).contains("longer than 32768 bytes"));
    for (open, close) in [("( ", " )"), ("{ ", "; }"), ("$(", ")"), ("if ", "; then :; fi"), ("\"$(", ")\"")]
    {
        let command = format!("{}true{}", open.repeat(13), close.repeat(13));
        assert!(reason(&command).contains("nested"), "{open}: {:?}", judged(&command));
        let command = format!("echo; {}true{}", open.repeat(5), close.repeat(5));
        assert_ne!(word(&judged(&command)), "denied", "{open}: {:?}", judged(&command));
    }
    let cases = format!("{}{}{}", "case a in a) ".repeat(9), "x ".repeat(3000), ";; esac ".repeat(9));
    assert!(reason(&cases).contains("too intricate"));
}

#[test]
fn closers_that_are_arguments_close_nothing() {
    let command = "if true; then echo fi; ".repeat(20);
    assert!(reason(&command).contains("nested"));
    let command = "( case a in b) echo; esac; ".repeat(20);
    assert!(reason(&command).contains("nested"));
    let command = "if true; then function fi { :; }; ".repeat(20);
    assert!(reason(&command).contains("nested"));
    all("allowed", &["echo if while for case { } fi done esac", "echo waiting for input in a case if any"]);
}

#[test]
fn a_function_that_calls_itself_ends() {
    all("risky", &["f() { f; tool; }; f"]);
    all("denied", &["f() { f; git push; }; f"]);
    let doubling: String = (0..20).map(|n| format!("f{}() {{ f{n}; f{n}; }}; ", n + 1)).collect();
    all("denied", &[&format!("f0() {{ :; }}; {doubling} f20")]);
}

#[test]
fn text_that_grows_becomes_unknown() {
    let doubling = "x=$x$x; ".repeat(40);
    all("allowed", &[&format!("x=ab; {doubling} echo $x")]);
    all("risky", &[&format!("x=ab; {doubling} $x")]);
}
