//! Programs that write, move, link or remove files.

use super::{
    call::Call,
    guard::{Access, readable},
    options::{Options, Spec},
    parse::UNKNOWN,
    paths::{base_name, relation},
    state::State,
    walk::Walker,
};

impl Walker {
    /// Judges a program that writes files; `None` if there is more to say about it, or nothing.
    pub(super) fn writer(&mut self, call: &Call<'_>, state: &mut State) -> Option<String> {
        let plain = Options::read(call.arguments, &Spec::default());
        match call.program {
            "cat" | "tac" => return Some(self.concatenated(call, &plain, state)),
            "tee" | "sponge" => return Some(self.tee(call, &plain, state)),
            "cp" | "mv" | "ln" | "install" | "rsync" | "scp" | "link" | "gcp" | "gmv" | "gln" => {
                self.copies(call, state);
            }
            "rm" | "rmdir" | "unlink" | "shred" | "trash" | "trash-put" | "rimraf" | "grm" | "srm" => {
                self.removes(call.program, &plain, state);
            }
            "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "xattr" | "chflags" => {
                let recursive = plain.short("R") || plain.has("recursive");
                let access = if recursive { Access::Remove } else { Access::Write };
                plain.all_operands().for_each(|path| self.touch(path, access, state));
            }
            "touch" | "mkdir" | "mkfifo" | "mknod" | "gtouch" => {
                plain.all_operands().for_each(|path| self.touch(path, Access::Write, state));
            }
            "truncate" => {
                let options =
                    Options::read(call.arguments, &Spec { short: "sr", attached: "", long: &["size"] });
                options.all_operands().for_each(|path| self.touch(path, Access::Write, state));
            }
            "dd" => {
                let target = call.arguments.iter().find_map(|field| field.text.strip_prefix("of="));
                self.touch(target.unwrap_or_default(), Access::Write, state);
            }
            "sed" | "gsed" => self.sed(call, state),
            "sort" | "shuf" | "tree" | "iconv" | "cc" | "gcc" | "g++" | "clang" | "ld" | "rustc"
            | "base64" => {
                self.option_target(call, "o", "output", state);
                return None;
            }
            "uniq" | "xxd" => {
                plain.all_operands().skip(1).for_each(|path| self.touch(path, Access::Write, state));
                return None;
            }
            "patch" => {
                self.risky("`patch` changes the files that its input names");
                plain.all_operands().for_each(|path| self.touch(path, Access::Write, state));
            }
            "tar" | "bsdtar" | "unzip" | "cpio" | "pax" | "7z" | "unxz" | "gunzip" | "gzip" => {
                self.unpacks(call, state)
            }
            "curl" | "wget" => {
                self.option_target(call, if call.program == "curl" { "o" } else { "O" }, "output", state);
                return None;
            }
            "perl" | "ruby" | "yq" | "prettier" | "ed" | "ex" | "vi" | "vim" | "nvim" | "nano" | "emacs"
            | "awk" | "gawk" => {
                self.edits(call, &plain, state);
                return None;
            }
            _ => return None,
        }
        Some(String::new())
    }

    fn concatenated(&mut self, call: &Call<'_>, options: &Options<'_>, state: &State) -> String {
        let mut paths = options.all_operands().peekable();
        if paths.peek().is_none() {
            return call.stdin.to_owned();
        }
        paths.map(|path| self.content(path, state, call.stdin)).collect()
    }

    fn tee(&mut self, call: &Call<'_>, options: &Options<'_>, state: &mut State) -> String {
        let append = options.short("a") || options.is("append");
        for path in options.all_operands() {
            self.touch(path, Access::Write, state);
            self.remember(path, call.stdin, append, state);
        }
        call.stdin.to_owned()
    }

    /// `cp`, `mv`, `ln` and the like: sources, then a target.
    fn copies(&mut self, call: &Call<'_>, state: &mut State) {
        const SPEC: Spec = Spec {
            short: "tSmog",
            attached: "",
            long: &["target-directory", "suffix", "mode", "owner", "group", "exclude", "include", "filter"],
        };
        let is_rsync = matches!(call.program, "rsync" | "scp");
        let spec = if is_rsync { Spec { short: "eBfT", ..SPEC } } else { SPEC };
        let options = Options::read(call.arguments, &spec);
        let mut sources: Vec<&str> = options.all_operands().collect();
        let target = options.values("t", "target-directory").first().copied().or_else(|| sources.pop());
        let Some(target) = target.filter(|_| !(is_rsync && sources.is_empty())) else { return };
        let links = options.short("ls") || options.has_any(&["link", "symbolic-link"]);
        let access = if options.has("delete") { Access::Remove } else { Access::Write };
        self.touch(target, access, state);
        for source in sources {
            match call.program {
                "mv" | "gmv" => self.removed(source, state),
                // A link to a protected file, or above it, is another name by which it can be written.
                "ln" | "gln" | "link" => self.touch(source, Access::Remove, state),
                "cp" | "gcp" if links => self.touch(source, Access::Remove, state),
                "install" if options.short("d") => self.touch(source, Access::Write, state),
                _ => {}
            }
            let name = base_name(source);
            self.touch(&format!("{target}/{name}"), Access::Write, state);
            if name == "." || source.ends_with('/') || options.short("T") {
                self.copies_whole(target, state);
            }
            if name == "git" {
                self.risky("it gives git another name");
                let names = [target.to_owned(), base_name(target).to_owned(), format!("./{target}")];
                state.aliases.extend(names.map(|name| (name, "git".to_owned())));
            }
            let text = self.content(source, state, &UNKNOWN.to_string());
            self.remember(target, &text, false, state);
            self.remember(&format!("{target}/{name}"), &text, false, state);
        }
    }

    /// A directory copied onto another may write anything below it.
    fn copies_whole(&mut self, target: &str, state: &State) {
        let above = |path: &String| self.guarded.iter().any(|guarded| relation(path, &guarded.path).any());
        if state.resolve(target).iter().any(above) {
            self.risky("it copies a directory over one that holds protected files");
        }
    }

    fn removes(&mut self, program: &str, options: &Options<'_>, state: &State) {
        if options.has("no-preserve-root") {
            self.deny(format!("`{program} --no-preserve-root` removes everything: name the files"));
        }
        options.all_operands().for_each(|path| self.removed(path, state));
    }

    fn removed(&mut self, path: &str, state: &State) {
        self.touch(path, Access::Remove, state);
        if !self.is_outside(path, state) {
            self.risky(format!("`{}` is removed or moved away", readable(path)));
        }
    }

    fn option_target(&mut self, call: &Call<'_>, letter: &'static str, name: &str, state: &State) {
        let spec = Spec { short: letter, attached: "", long: &["output", "output-document"] };
        let options = Options::read(call.arguments, &spec);
        for path in options.values(letter, name).into_iter().chain(options.values(letter, "output-document"))
        {
            self.touch(path, Access::Write, state);
        }
    }

    fn sed(&mut self, call: &Call<'_>, state: &mut State) {
        const SPEC: Spec = Spec { short: "efl", attached: "i", long: &["expression", "file", "line-length"] };
        let options = Options::read(call.arguments, &SPEC);
        let mut operands: Vec<&str> = options.all_operands().filter(|text| !text.is_empty()).collect();
        let mut scripts = options.values("e", "expression");
        let has_script = !scripts.is_empty() || options.short("f") || options.has("file");
        if !has_script && !operands.is_empty() {
            scripts.push(operands.remove(0));
        }
        if options.short("f") || options.has("file") {
            self.risky("`sed` reads its commands from a file");
        }
        for script in scripts {
            self.sed_script(script, state);
        }
        if options.short("i") || options.has("in-place") {
            operands.iter().for_each(|path| self.touch(path, Access::Write, state));
        }
    }

    /// `e` in a script of sed runs a command, `w` writes a file.
    fn sed_script(&mut self, script: &str, state: &State) {
        if script.contains(UNKNOWN) {
            return;
        }
        for part in script.split([';', '\n', '{', '}']) {
            let bare =
                part.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | ' ' | '!'));
            if let Some(text) = bare.strip_prefix("e ") {
                self.run(text, &mut state.clone(), &UNKNOWN.to_string());
            }
            let runs = part.rsplit_once('/').is_some_and(|(_, flags)| {
                flags.contains('e') && flags.bytes().all(|byte| b"egIimp0123456789".contains(&byte))
            });
            if bare == "e" || (runs && bare.starts_with('s')) {
                self.risky("`sed` runs what it puts together");
            }
            if let Some((_, path)) = part.rsplit_once("w ") {
                self.touch(path.trim(), Access::Write, state);
            }
        }
    }

    fn unpacks(&mut self, call: &Call<'_>, state: &mut State) {
        let texts = || call.arguments.iter().map(|field| field.text.as_str());
        for (index, text) in texts().enumerate() {
            let command = text.split_once("exec=").or_else(|| text.split_once("--to-command="));
            if let Some((_, command)) = command {
                self.run(command, &mut state.clone(), &UNKNOWN.to_string());
            }
            if matches!(text, "-C" | "-d" | "--directory" | "-f" | "--file") {
                let next = texts().nth(index + 1).unwrap_or_default();
                self.touch(next, Access::Write, state);
            }
        }
        let first = texts().next().unwrap_or_default();
        let lists = first.trim_start_matches('-').contains('t') || matches!(first, "-l" | "l");
        let creates = first.trim_start_matches('-').contains('c') && call.program.ends_with("tar");
        if !lists && !creates {
            self.risky(format!("`{}` writes the files that an archive names", call.program));
        }
    }

    /// Programs that change a file in place if they are told to.
    fn edits(&mut self, call: &Call<'_>, options: &Options<'_>, state: &State) {
        let editor = matches!(call.program, "ed" | "ex" | "vi" | "vim" | "nvim" | "nano" | "emacs");
        let in_place = options.short("i") || options.has_any(&["inplace", "in-place", "write"]);
        if editor || in_place {
            options.all_operands().for_each(|path| self.touch(path, Access::Write, state));
        }
    }
}
