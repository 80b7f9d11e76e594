//! What cannot be read is refused, and what could be an attack on the reader is refused before it is read.

use std::thread;

use super::{all, judged, reason, word};

/// The stack of a thread that nobody has given more.
const STACK: usize = 2 * 1024 * 1024;

/// A chain of texts, each of which runs the one before it. `{}` stands for its name.
fn chain(link: &str, length: usize) -> String {
    let links = (0..length).map(|n| format!("x{}='{}'; ", n + 1, link.replace("{}", &format!("$x{n}"))));
    format!("x0=true; {}eval \"$x{length}\"", links.collect::<String>())
}

fn functions(body: &str, count: usize) -> String {
    let bodies =
        (0..count).map(|n| format!("f{}() {{ {}; }}; ", n + 1, body.replace("{}", &format!("f{n}"))));
    format!("f0() {{ true; }}; {}f{count}", bodies.collect::<String>())
}

fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let mut commands = vec![
        functions("{}", 38),
        functions("x=\"$({})\"", 38),
        functions("echo \"${x:-$({})}\"", 38),
        functions("( { if true; then ( {} ); fi; } )", 38),
        "xargs ".repeat(5000),
        "env ".repeat(8000),
        format!("{}ls", "! ".repeat(9000)),
        "`".repeat(32_000),
        "(".repeat(32_000),
        "{ ".repeat(16_000),
        "$(".repeat(16_000),
        "${x:-".repeat(6000),
        "[[ ( ".repeat(6000),
        "if ".repeat(10_000),
        "case x in x) ".repeat(2400),
    ];
    let openers =
        [("( ", " )"), ("{ ", "; }"), ("\"$(", ")\""), ("if ", "; then :; fi"), ("case a in a) ", ";; esac")];
    for (open, close) in openers {
        for depth in [5, 12] {
            commands.push(nested(open, "true", close, depth));
            commands.push(chain(&nested(open, "eval \"{}\"", close, depth), 40));
        }
    }
    let judge = move || commands.iter().for_each(|command| _ = judged(command));
    thread::Builder::new().stack_size(STACK).spawn(judge).unwrap().join().unwrap();
}

#[test]
fn work_that_multiplies_is_refused() {
    let loops = |body: &str| nested("for i in 1 2 3 4 5 6 7 8 9; do ", body, "; done", 3);
    let commands = [
        format!("x='{}'; {}", "ls a b c; ".repeat(2900), loops("eval \"$x\"")),
        loops(&format!("echo {} >> f", "x".repeat(30_000))),
        format!("x={}; y=$x$x; {}", "a".repeat(30_000), loops(": $(echo $y | cat | cat)")),
        format!("find . {}", "-name a -exec rm {} \\; ".repeat(1000)),
        format!("find {} {}", "a ".repeat(5000), "-name a -exec rm {} \\; ".repeat(100)),
        format!("{}{}", (0..1800).map(|n| format!("v{n}=1; ")).collect::<String>(), "(ls); ".repeat(2500)),
        format!("{}ls{}", "while ls; do ".repeat(12), "; done".repeat(12)),
    ];
    for command in commands {
        assert!(reason(&command).contains("more than can be followed"), "{:?}", judged(&command));
    }
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
