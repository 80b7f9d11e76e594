//! Programs that write, move, link or remove files.

use super::{
    call::Call,
    guard::{Access, readable},
    options::{Options, Spec},
    parse::UNKNOWN,
    paths::{base_name, relation},
    state::State,
    walk::Walker,
    word::Field,
};

/// How lines of a patch begin that name a file.
const PATCHED: [&str; 6] = ["+++ ", "--- ", "rename to ", "rename from ", "copy to ", "Index: "];

/// Options by which a program changes the files that it is given.
const IN_PLACE: &[&str] = &["inplace", "in-place", "write", "fix", "write-changes"];

impl Walker {
    /// Judges a program that writes files; `None` if there is more to say about it, or nothing.
    pub(super) fn writer(&mut self, call: &Call<'_>, state: &mut State) -> Option<String> {
        let plain = Options::read(call.arguments, &Spec::default());
        match call.program {
            "cat" => return Some(self.concatenated(call, &plain, state)),
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
            "rename" | "prename" | "mmv" => {
                plain.all_operands().for_each(|path| self.removed(path, state));
            }
            "split" | "csplit" => {
                plain.all_operands().skip(1).for_each(|path| self.touch(path, Access::Write, state));
            }
            "touch" | "mkdir" | "mkfifo" | "mknod" | "gtouch" => {
                plain.all_operands().for_each(|path| self.touch(path, Access::Write, state));
            }
            "truncate" => {
                let options =
                    Options::read(call.arguments, &Spec { short: "sr", attached: "", long: &["size"] });
                options.all_operands().for_each(|path| self.rewritten(path, state));
            }
            "dd" => {
                let targets = call.arguments.iter().filter_map(|field| field.text.strip_prefix("of="));
                targets.for_each(|path| self.rewritten(path, state));
            }
            "sed" | "gsed" => self.sed(call, state),
            "sort" | "shuf" | "tree" | "iconv" | "cc" | "gcc" | "g++" | "clang" | "ld" | "rustc"
            | "base64" | "go" => {
                self.option_target(call, "o", state);
                return None;
            }
            "uniq" | "xxd" => {
                plain.all_operands().skip(1).for_each(|path| self.touch(path, Access::Write, state));
                return None;
            }
            "patch" => {
                self.risky("`patch` changes the files that its input names");
                const SPEC: Spec = Spec {
                    short: "ioprdBDFVYz",
                    attached: "",
                    long: &["input", "output", "strip", "directory"],
                };
                let options = Options::read(call.arguments, &SPEC);
                let named = options.all_operands().chain(options.values("o", "output"));
                named.for_each(|path| self.rewritten(path, state));
                self.patched(&options.values("i", "input"), call.stdin, state);
            }
            "tar" | "bsdtar" | "zip" | "unzip" | "cpio" | "pax" | "7z" => self.archives(call, state),
            "gzip" | "gunzip" | "xz" | "unxz" | "bzip2" | "bunzip2" | "zstd" | "unzstd" => {
                self.packs(&plain, state);
            }
            "curl" | "wget" => {
                self.option_target(call, if call.program == "curl" { "o" } else { "O" }, state);
                return None;
            }
            "perl" | "ruby" | "awk" | "gawk" | "ed" | "ex" | "vi" | "vim" | "nvim" | "nano" | "emacs"
            | "autopep8" | "black" | "clang-format" | "codespell" | "gofmt" | "goimports" | "isort"
            | "markdownlint" | "prettier" | "ruff" | "rustfmt" | "shfmt" | "taplo" | "typos" | "yq" => {
                self.edits(call, &plain, state);
                return None;
            }
            _ => return None,
        }
        Some(UNKNOWN.to_string())
    }

    /// Judges a write to a file whose text is not known afterwards.
    fn rewritten(&mut self, path: &str, state: &mut State) {
        self.touch(path, Access::Write, state);
        self.remember(path, &UNKNOWN.to_string(), false, state);
    }

    fn concatenated(&mut self, call: &Call<'_>, options: &Options<'_>, state: &State) -> String {
        if options.has_options() {
            // Numbers, marks of ends and the like are put between the text.
            return UNKNOWN.to_string();
        }
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
        const COREUTILS: Spec = Spec { short: "tS", attached: "", long: &["target-directory", "suffix"] };
        const INSTALL: Spec = Spec {
            short: "tSmog",
            attached: "",
            long: &["target-directory", "suffix", "mode", "owner", "group", "strip-program"],
        };
        const RSYNC: Spec = Spec {
            short: "eBfTM",
            attached: "",
            long: &[
                "rsh",
                "exclude",
                "include",
                "filter",
                "files-from",
                "backup-dir",
                "temp-dir",
                "log-file",
            ],
        };
        const SCP: Spec = Spec { short: "PiFlocSJDX", attached: "", long: &[] };
        let (spec, is_rsync) = match call.program {
            "rsync" => (RSYNC, true),
            "scp" => (SCP, true),
            "install" => (INSTALL, false),
            _ => (COREUTILS, false),
        };
        let options = Options::read(call.arguments, &spec);
        let mut sources: Vec<&str> = options.all_operands().collect();
        let target = options.values("t", "target-directory").first().copied().or_else(|| sources.pop());
        let Some(target) = target.filter(|_| !(is_rsync && sources.is_empty())) else { return };
        for text in options.values(if call.program == "rsync" { "e" } else { "" }, "rsh") {
            self.run(text, &mut state.clone(), &UNKNOWN.to_string());
        }
        for path in options.values("", "log-file").into_iter().chain(options.values("", "backup-dir")) {
            self.touch(path, Access::Write, state);
        }
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
            if matches!(name, "git" | "gh" | "hub" | "warp") {
                self.risky(format!("it gives `{name}` another name"));
                let names = [target.to_owned(), base_name(target).to_owned(), format!("./{target}")];
                state.aliases.extend(names.map(|other| (other, name.to_owned())));
            }
            let text = self.content(source, state, &UNKNOWN.to_string());
            self.remember(target, &text, false, state);
            self.remember(&format!("{target}/{name}"), &text, false, state);
        }
    }

    /// A directory copied onto another may write anything below it.
    fn copies_whole(&mut self, target: &str, state: &State) {
        let targets = state.resolve(target);
        let holds = |path: &String| {
            let parent = |guarded: &str| guarded.rsplit_once('/').map(|(parent, _)| parent.to_owned());
            *path != self.root
                && self.guarded.iter().any(|guarded| parent(&guarded.path).as_ref() == Some(path))
        };
        if targets.iter().any(holds) {
            let shown = readable(target);
            return self
                .deny(format!("`{shown}` holds files that are not an agent's to write: name the files"));
        }
        let above = |path: &String| self.guarded.iter().any(|guarded| relation(path, &guarded.path).any());
        if targets.iter().any(above) {
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

    /// Judges the file that `-o`, or another letter, or `--output` names.
    pub(super) fn option_target(&mut self, call: &Call<'_>, letter: &'static str, state: &mut State) {
        let spec = Spec { short: letter, attached: "", long: &["output", "output-document"] };
        let options = Options::read(call.arguments, &spec);
        let named =
            options.values(letter, "output").into_iter().chain(options.values(letter, "output-document"));
        named.for_each(|path| self.rewritten(path, state));
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
            operands.iter().for_each(|path| self.rewritten(path, state));
        }
    }

    /// Judges what an archive is written to, and where one is unpacked.
    fn archives(&mut self, call: &Call<'_>, state: &mut State) {
        let texts: Vec<&str> = call.arguments.iter().map(|field| field.text.as_str()).collect();
        let next = |index: usize| texts.get(index + 1).copied().unwrap_or_default();
        let first = texts.first().copied().unwrap_or_default();
        let is_tar = call.program.ends_with("tar");
        let is_cluster =
            |index: usize, text: &str| (index == 0 || text.starts_with('-')) && !text.starts_with("--");
        let mode = |letters: &str, name: &str| {
            let asked = |text: &str| text.contains(|letter| letters.contains(letter));
            let mut clusters = texts.iter().enumerate().filter(|(index, text)| is_cluster(*index, text));
            is_tar && (clusters.any(|(_, text)| asked(text)) || texts.contains(&name))
        };
        let creates = mode("cru", "--create");
        for (index, text) in texts.iter().enumerate() {
            for command in ["exec=", "--to-command=", "--use-compress-program="] {
                if let Some((_, command)) = text.split_once(command) {
                    self.run(command, &mut state.clone(), &UNKNOWN.to_string());
                }
            }
            let is_file = is_cluster(index, text) && text.ends_with('f');
            let written = match *text {
                "-C" | "-d" | "--directory" => next(index),
                "--file" if creates => next(index),
                _ if creates && is_file => next(index),
                _ => text.strip_prefix("--file=").filter(|_| creates).unwrap_or_default(),
            };
            self.touch(written, Access::Write, state);
            if !creates && matches!(*text, "-C" | "-d" | "--directory") {
                self.copies_whole(written, state);
            }
        }
        if call.program == "zip" {
            let archive = texts.iter().find(|text| !text.starts_with('-'));
            self.touch(archive.copied().unwrap_or_default(), Access::Write, state);
            return;
        }
        let lists = mode("t", "--list") || matches!(first, "-l" | "l");
        if !creates && !lists {
            self.risky(format!("`{}` writes the files that an archive names", call.program));
        }
    }

    /// `gzip` and its like put another file in the place of each they are given.
    fn packs(&mut self, options: &Options<'_>, state: &State) {
        let reads = options.short("clt") || options.has_any(&["stdout", "to-stdout", "list", "test"]);
        if !reads {
            options.all_operands().for_each(|path| self.removed(path, state));
        }
    }

    /// Judges the files that a patch changes, where its text is known.
    pub(super) fn patched(&mut self, patches: &[&str], stdin: &str, state: &State) {
        let texts = patches.iter().map(|path| self.content(path, state, stdin));
        let texts: Vec<String> = texts.chain([stdin.to_owned()]).collect();
        for line in texts.iter().flat_map(|text| text.lines()) {
            let named = PATCHED.iter().find_map(|prefix| line.strip_prefix(prefix));
            let path = named.and_then(|rest| rest.split('\t').next()).unwrap_or_default().trim();
            // With `-p1`, as is usual, and with `-p0`.
            let inside = path.split_once('/').map_or("", |(_, inside)| inside);
            if path != "/dev/null" {
                self.touch(path, Access::Write, state);
                self.touch(inside, Access::Write, state);
            }
        }
    }

    /// Codex's own patches, which it also takes from a shell: the text is the only argument, or the input.
    pub(super) fn own_patch(&mut self, arguments: &[Field], stdin: &str, state: &State) {
        self.risky("`apply_patch` changes the files that its patch names");
        for text in arguments.iter().map(|field| field.text.as_str()).chain([stdin]) {
            for path in crate::gate::perhaps_patched(text) {
                self.touch(path, Access::Remove, state);
            }
        }
    }

    /// Editors and formatters, which change files in place, some only if they are told to.
    fn edits(&mut self, call: &Call<'_>, options: &Options<'_>, state: &mut State) {
        let verb = options.operands.first().copied().unwrap_or_default();
        let always = match call.program {
            "ed" | "ex" | "vi" | "vim" | "nvim" | "nano" | "emacs" => true,
            "black" | "isort" | "rustfmt" | "autopep8" => !options.has_any(&["check", "diff", "check-only"]),
            "taplo" | "ruff" => matches!(verb, "fmt" | "format") && !options.has_any(&["check", "diff"]),
            _ => false,
        };
        let asked = options.short("iw") || options.has_any(IN_PLACE);
        if always || asked {
            options.all_operands().for_each(|path| self.rewritten(path, state));
        }
    }
}
