//! Whatever the text, the judge answers.

use proptest::prelude::*;
use shell::Judgement;

use super::{
    corpus::{HARMLESS, PRIMITIVES, WRAPPERS, named, unescaped},
    judged,
};

fn answers(command: &str) -> Result<(), TestCaseError> {
    if let Judgement::Denied(reason) = judged(command) {
        prop_assert!(!reason.contains("gave up"), "{reason}");
    }
    Ok(())
}

fn corpus() -> Vec<String> {
    let texts = [HARMLESS, WRAPPERS, PRIMITIVES];
    texts.into_iter().flat_map(named).map(|(_, text)| unescaped(text)).collect()
}

/// Text from the pieces that shells treat specially.
fn shell_like() -> impl Strategy<Value = String> {
    let pieces = [
        "git",
        "push",
        " ",
        " ",
        "\n",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "(",
        ")",
        "((",
        "))",
        "{",
        "}",
        "$(",
        "${",
        "$((",
        "`",
        "'",
        "\"",
        "\\",
        "$'",
        "<<EOF\n",
        "EOF\n",
        "<<<",
        "<(",
        ">",
        ">>",
        "if ",
        "then ",
        "fi",
        "case x in ",
        "x) ",
        ";;",
        "esac",
        "for i in ",
        "do ",
        "done",
        "[[ ",
        " ]]",
        "=",
        "x",
        "$x",
        "~",
        "*",
        "{a,b}",
        "#",
        "!",
        "é",
        "function f ",
        "coproc ",
        "eval ",
        "sh -c ",
        "\t",
        "2>&1",
        "123456",
        "@(",
        "+=",
        "[0]",
        "%%",
        ":-",
        "\r",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..60).prop_map(|parts| parts.concat())
}

/// A command of the corpus with some pieces taken out, doubled or put elsewhere.
fn mutated() -> impl Strategy<Value = String> {
    let commands = prop::sample::select(corpus());
    let cuts =
        prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3_u8), 1..6);
    (commands.clone(), commands, cuts).prop_map(|(mut command, other, cuts)| {
        for (from, to, action) in cuts {
            let mut edges: Vec<usize> = command.char_indices().map(|(at, _)| at).collect();
            edges.push(command.len());
            let (from, to) = (edges[from.index(edges.len())], edges[to.index(edges.len())]);
            let (from, to) = (from.min(to), from.max(to));
            match action {
                0 => command.replace_range(from..to, ""),
                1 => command = format!("{}{}", &command[..to], &command[from..]),
                _ => command.insert_str(from, &other),
            }
        }
        command
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_is_answered(command in "\\PC{0,200}") {
        answers(&command)?;
    }

    #[test]
    fn arbitrary_bytes_are_answered(command in any::<Vec<u8>>()) {
        answers(&String::from_utf8_lossy(&command))?;
    }

    #[test]
    fn text_like_shell_is_answered(command in shell_like()) {
        answers(&command)?;
    }

    #[test]
    fn mutated_commands_are_answered(command in mutated()) {
        answers(&command)?;
    }

    #[test]
    fn repeated_openers_are_answered(piece in shell_like(), count in 1..400_usize) {
        let mut command = piece.repeat(count);
        let end = (0..=command.len().min(32_000)).rev().find(|at| command.is_char_boundary(*at)).unwrap_or(0);
        command.truncate(end);
        answers(&command)?;
    }
}
