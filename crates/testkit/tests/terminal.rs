//! Programs in a terminal: what is typed reaches them, what they show is seen, and nothing of them is left.

use testkit::{
    Sandbox,
    agents::Claude,
    model::{Model, Turn},
    processes::{find, wait_until_none},
    terminal::Terminal,
};

/// What the client shows when it can be typed to.
const READY: &str = "accept edits on";

#[test]
fn a_program_hears_what_is_typed_and_ends_with_its_terminal() {
    if Terminal::is_skipped() {
        return;
    }
    let sandbox = Sandbox::new("/nonexistent");
    let mut command = sandbox.command("sh");
    command.env("WORD", "hello");
    command.args(["-c", "stty size; while read line; do echo \"$WORD, $line\"; pwd; done"]);
    let terminal = Terminal::start(&command, (90, 30));
    terminal.wait_for("30 90");
    terminal.type_line("Ada");
    terminal.wait_for("hello, Ada");
    terminal.wait_for("/demo");
    drop(terminal);
    let is_ours =
        |words: &[&[u8]]| words.iter().any(|word| word.ends_with(b"echo \"$WORD, $line\"; pwd; done"));
    assert_eq!(wait_until_none(|| find(is_ours)), None);
}

#[test]
fn a_client_in_a_terminal_is_typed_to() {
    let (Some(claude), false) = (Claude::or_skip(), Terminal::is_skipped()) else { return };
    let sandbox = Sandbox::new("/nonexistent");
    let model = Model::start([Turn::bash("echo hello > greeting"), Turn::say("It is greeted.")]);
    let terminal = claude.interactive(&sandbox, &model).in_terminal((120, 40));
    terminal.wait_for(READY);
    terminal.type_line("Greet whoever comes by.");
    terminal.wait_for("It is greeted.");
    assert_eq!(sandbox.read("greeting").as_deref(), Some("hello\n"));
}
