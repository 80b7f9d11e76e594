//! Programs that write, move, link or remove files.

use super::{
    call::Call,
    guard::{Access, readable},
    options::{Options, Spec},
    parse::UNKNOWN,
    paths::{base_name, relation},
    state::{Certainty, State},
    walk::Walker,
    word::Field,
};

/// How lines of a patch begin that name a file.
const PATCHED: [&str; 6] = ["+++ ", "--- ", "rename to ", "rename from ", "copy to ", "Index: "];

/// Options by which a program changes the files that it is given.
const IN_PLACE: &[&str] = &["inplace", "in-place", "write", "fix", "write-changes"];

impl Walker<'_> {
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
                self.commands_in_options(call.arguments);
                plain.all_operands().skip(1).for_each(|path| self.touch(path, Access::Write, state));
            }
            "mkdir" | "gmkdir" => {
                for path in plain.all_operands() {
                    self.touch(path, Access::Make, state);
                    let is_temporary =
                        path.starts_with("/tmp/") && !path.contains([UNKNOWN, super::parse::GLOB]);
                    if plain.short("p") && is_temporary && self.certainty == Certainty::Sure {
                        state.there.extend(state.resolve(path));
                    }
                }
            }
            "touch" | "mkfifo" | "mknod" | "gtouch" => {
                plain.all_operands().for_each(|path| self.touch(path, Access::Make, state));
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
                self.downloads(call, state);
                return None;
            }
            "mktemp" | "gmktemp" => return Some(self.temporary(call, state)),
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
                "rsync-path",
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
        self.copier_runs(call, &options, state);
        let mut sources: Vec<&str> = options.all_operands().collect();
        let target = options.values("t", "target-directory").first().copied().or_else(|| sources.pop());
        let Some(target) = target.filter(|_| !(is_rsync && sources.is_empty())) else { return };
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

    /// What a program that copies runs beside it.
    fn copier_runs(&mut self, call: &Call<'_>, options: &Options<'_>, state: &State) {
        let commands = match call.program {
            "rsync" => {
                options.values("e", "rsh").into_iter().chain(options.values("", "rsync-path")).collect()
            }
            "scp" => [options.values("S", ""), options.values("o", ""), options.values("J", "")].concat(),
            "install" => options.values("", "strip-program"),
            _ => Vec::new(),
        };
        for text in commands {
            self.risky(format!("`{}` runs another program with that option", call.program));
            // A shell's setting: `ProxyCommand=…`.
            self.perhaps_command(text.split_once('=').map_or(text, |(_, value)| value));
            self.run(text, &mut state.clone(), &UNKNOWN.to_string());
        }
        if call.program == "rsync" && options.has_any(&["remove-source-files", "delete"]) {
            self.risky("`rsync` removes files with that option");
        }
        if call.program == "scp" && (options.short("F") || options.unknown) {
            self.risky("`scp` reads its settings from a file");
        }
    }

    /// A directory copied onto another may write anything below it.
    pub(super) fn copies_whole(&mut self, target: &str, state: &State) {
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
        let is_whole = options.short("rR") || options.has("recursive") || program == "rimraf";
        if is_whole || program.starts_with("trash") {
            options.all_operands().for_each(|path| self.removed_with_all(path, state));
        }
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
        named.filter(|path| *path != "-").for_each(|path| self.rewritten(path, state));
    }

    /// What a program that fetches something writes, and what its options run.
    fn downloads(&mut self, call: &Call<'_>, state: &mut State) {
        const CURL: Spec = Spec {
            short: "XdFHouTAebKmcDCEPQrtUwxyYz",
            attached: "",
            long: &[
                "output",
                "cookie-jar",
                "dump-header",
                "trace",
                "trace-ascii",
                "stderr",
                "libcurl",
                "etag-save",
                "output-dir",
                "hsts",
                "alt-svc",
            ],
        };
        if call.program == "wget" {
            self.option_target(call, "O", state);
            self.commands_in_options(call.arguments);
            let options =
                Options::read(call.arguments, &Spec { short: "OoaeiPBtTwQUlADRIX", ..Spec::default() });
            let to_nowhere =
                options.values("O", "output-document").iter().all(|path| matches!(*path, "-" | "/dev/null"));
            let quiet = to_nowhere && options.short("O") && !options.short("eoaiP");
            if !quiet
                || options.has_any(&["execute", "use-askpass", "config", "output-file", "append-output"])
            {
                self.risky("`wget` writes files");
            }
            return;
        }
        let options = Options::read(call.arguments, &CURL);
        let written = CURL.long.iter().flat_map(|name| {
            let letter = match *name {
                "output" => "o",
                "cookie-jar" => "c",
                "dump-header" => "D",
                _ => "",
            };
            options.values(letter, name)
        });
        for path in written.filter(|path| !matches!(*path, "-" | "/dev/null")) {
            self.rewritten(path, state);
        }
        if options.short("OJK") || options.has_any(&["remote-name", "remote-name-all", "config", "engine"]) {
            self.risky("`curl` writes a file that the address names, or reads its options from a file");
        }
    }

    /// What `mktemp` prints, if that is surely a place outside the project: a name that stands for the real one.
    fn temporary(&mut self, call: &Call<'_>, state: &State) -> String {
        const SPEC: Spec = Spec { short: "p", attached: "", long: &["suffix"] };
        let options = Options::read(call.arguments, &SPEC);
        let known = !options.unknown
            && !options.short("p")
            && !options.has_any(&["tmpdir", "suffix"])
            && state.get("TMPDIR").is_none();
        let template = match options.operands.as_slice() {
            [] => Some("tmp.XXXXXX"),
            [name] if options.short("t") && !name.contains('/') => Some(*name),
            [path] => path.strip_prefix("/tmp/").filter(|name| !name.contains('/')),
            _ => None,
        };
        let is_template =
            |name: &&str| name.ends_with("XXX") && !name.contains([UNKNOWN, super::parse::GLOB]);
        match template.filter(|name| known && is_template(name)) {
            Some(name) => {
                self.streams += 1;
                format!("/tmp/{name}{}\n", self.streams)
            }
            None => UNKNOWN.to_string(),
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
            if script.contains(UNKNOWN) {
                self.risky("`sed` is given commands that are only known once it runs");
            }
            self.sed_script(script, state);
        }
        if options.short("i") || options.has("in-place") {
            operands.iter().for_each(|path| self.rewritten(path, state));
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
            for path in crate::perhaps_patched(text) {
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
