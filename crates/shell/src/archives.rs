//! Programs that pack, unpack and copy: what they write, and what their options run.

use super::{
    call::Call,
    guard::Access,
    options::{Options, Spec},
    parse::UNKNOWN,
    state::State,
    walk::Walker,
};

/// Options of `tar` that take a value, in any spelling that is clear.
const TAR: Spec = Spec {
    short: "fCTXgIFbHKLNV",
    attached: "",
    long: &[
        "file",
        "directory",
        "files-from",
        "exclude-from",
        "exclude",
        "listed-incremental",
        "use-compress-program",
        "to-command",
        "checkpoint-action",
        "info-script",
        "new-volume-script",
        "rsh-command",
        "rmt-command",
        "transform",
        "index-file",
    ],
};

/// What an option of `tar` runs: its letter if it has one, and its name.
const TAR_RUNS: [(&str, &str); 7] = [
    ("I", "use-compress-program"),
    ("F", "info-script"),
    ("", "new-volume-script"),
    ("", "to-command"),
    ("", "checkpoint-action"),
    ("", "rsh-command"),
    ("", "rmt-command"),
];

impl Walker<'_> {
    /// Judges what an archive is written to, and where one is unpacked.
    pub(super) fn archives(&mut self, call: &Call<'_>, state: &mut State) {
        if call.program.ends_with("tar") {
            return self.tar(call, state);
        }
        let texts: Vec<&str> = call.arguments.iter().map(|field| field.text.as_str()).collect();
        for pair in texts.windows(2).filter(|pair| matches!(pair[0], "-d" | "-C" | "--directory")) {
            self.touch(pair[1], Access::Write, state);
            self.copies_whole(pair[1], state);
        }
        if call.program == "zip" {
            let archive = texts.iter().find(|text| !text.starts_with('-'));
            self.touch(archive.copied().unwrap_or_default(), Access::Write, state);
            let options = Options::read(call.arguments, &Spec::default());
            if options.short("mTO") || options.has_any(&["move", "test", "unzip-command", "output-file"]) {
                self.risky("`zip` removes files or runs another program with that option");
                self.command_words(call.arguments);
            }
            return;
        }
        let first = texts.first().copied().unwrap_or_default();
        let lists = matches!(first, "-l" | "l" | "-t" | "-v" | "-Z" | "-p");
        if !lists {
            self.risky(format!("`{}` writes the files that an archive names", call.program));
        }
    }

    fn tar(&mut self, call: &Call<'_>, state: &mut State) {
        // The first word may be options without their dash: `tar czf x`.
        let mut arguments = call.arguments.to_vec();
        let bundled = arguments.first().map(|first| first.text.clone()).filter(|text| !text.starts_with('-'));
        let bundled = bundled.unwrap_or_default();
        if !bundled.is_empty() {
            arguments.remove(0);
            // Their values follow in the order of the letters.
            let takes_value = |letter: &char| TAR.short.contains(*letter);
            let count = bundled.chars().filter(takes_value).count().min(arguments.len());
            let values: Vec<_> = arguments.drain(..count).collect();
            let plain: String = bundled.chars().filter(|letter| !takes_value(letter)).collect();
            let mut spelled = vec![super::word::Field::plain(format!("-{plain}"))];
            for (letter, value) in bundled.chars().filter(takes_value).zip(values) {
                spelled.push(super::word::Field::plain(format!("-{letter}")));
                spelled.push(value);
            }
            arguments.splice(0..0, spelled);
        }
        let options = Options::read(&arguments, &TAR);
        for (letter, name) in TAR_RUNS {
            for text in options.values(letter, name) {
                let text = text.strip_prefix("exec=").unwrap_or(text);
                if name == "checkpoint-action" && matches!(text, "dot" | "echo" | "bell" | "totals") {
                    continue;
                }
                self.risky(format!("`tar` runs another program with `--{name}`"));
                self.perhaps_command(text);
                self.run(text, &mut state.clone(), &UNKNOWN.to_string());
            }
        }
        let creates =
            options.short("cruA") || options.has_any(&["create", "append", "update", "concatenate"]);
        let lists = options.short("td") || options.has_any(&["list", "diff", "compare"]);
        if options.has_any(&["remove-files", "delete"]) {
            self.risky("`tar` removes files with that option");
            options.all_operands().for_each(|path| self.touch(path, Access::Remove, state));
        }
        for path in
            options.values("", "index-file").into_iter().chain(options.values("g", "listed-incremental"))
        {
            self.touch(path, Access::Write, state);
        }
        if creates {
            options.values("f", "file").into_iter().for_each(|path| self.touch(path, Access::Write, state));
        } else if !lists {
            self.risky(format!("`{}` writes the files that an archive names", call.program));
            for path in options.values("C", "directory") {
                self.touch(path, Access::Write, state);
                self.copies_whole(path, state);
            }
        }
        if options.unknown {
            self.risky("`tar` is given options that are only known once it runs");
        }
    }
}
