//! Programs that run text in another language, or that carry commands elsewhere.
//!
//! What they do cannot be known, so they are risky. If their text plainly starts git on something that is
//! refused, or plainly writes a protected file, it is refused: this is the best that reading can do.

use super::{
    call::Call, filters::disguised, git, guard::Access, harmless, parse::UNKNOWN, paths::base_name,
    programs::is_one_of, recipes, state::State, walk::Walker, word::Field,
};

/// What starts a process in some language.
const STARTERS: [&str; 20] = [
    "system",
    "subprocess",
    "popen",
    "Popen",
    "exec",
    "spawn",
    "child_process",
    "qx",
    "%x",
    "`",
    "run(",
    "Process",
    "posix_",
    "fork",
    "os.",
    "Open3",
    "shell",
    "getline",
    "| \"",
    "!git",
];

/// What writes, moves or removes a file in some language.
const WRITERS: &str = "\
    write append unlink remove delete rename truncate chmod copy move rmtree rmSync rm( rm_rf 'w' \"w\" 'wb' \
    \"wb\" 'a' \"a\" 'r+' \"r+\" '> \"> >\" >> -pi -i";

/// What removes a whole directory in some language.
const REMOVERS: &str = "rmtree( rmSync( rm( rename( rm_rf( remove( removeSync( unlink( move( rmdir(";

/// What stands in front of a string that is only compared with something.
const COMPARES: &[&str] = &[
    "==",
    "!=",
    " in",
    "startswith(",
    "startsWith(",
    "endswith(",
    "endsWith(",
    "include?(",
    "includes(",
    "contains(",
    "has(",
    "=~",
    "case",
    "match(",
    "fnmatch(",
];

/// Parts of a repository that git keeps to itself.
const REPOSITORY: &str = ".git/HEAD .git/refs .git/config .git/hooks .git/index .git/packed-refs .git/objects .git/logs \
    .git/warp .git/worktrees";

/// The longest list of arguments that is looked for behind the word `git`.
const WORDS: usize = 24;

/// The longest call of git that is looked for, in bytes.
const CALL: usize = 512;

/// The most strings of a program that are read as commands.
const LITERALS: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    /// A language of its own, in which a command is a string.
    Code,
    /// Arguments or text that are commands themselves.
    Commands,
}

/// Languages of their own.
const CODE: &str = "\
    python pypy ipython perl ruby irb node nodejs deno bun php lua luajit Rscript R osascript tclsh wish \
    awk gawk mawk nawk julia elixir erl ghci runghc swift scala groovy jshell java guile emacs vim vi nvim \
    ex ed view less more man gdb lldb sqlite psql pwsh powershell nano";

/// Programs whose files, text or arguments are commands.
const COMMANDS: &str = "\
    make gmake bmake just task rake ninja npm pnpm yarn npx bunx pnpx uvx pipx ssh mosh docker podman \
    nerdctl kubectl lxc docker-compose tmux screen at batch crontab expect nix-shell nix nsenter bwrap \
    firejail entr nodemon watchexec fswatch pre-commit husky lefthook simple-git-hooks tox nox act invoke \
    fab gradle mvn bazel hyperfine";

fn language(program: &str) -> Option<Language> {
    // `python3.12` is python.
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if is_one_of(CODE, bare) {
        Some(Language::Code)
    } else {
        is_one_of(COMMANDS, bare).then_some(Language::Commands)
    }
}

impl Walker<'_> {
    /// Judges an interpreter; false if the program is not one.
    pub(super) fn interpreter(&mut self, call: &Call<'_>, state: &mut State) -> bool {
        let Some(language) = language(call.program) else { return false };
        if matches!(call.program, "less" | "more" | "man" | "view")
            && only_shows(call.program, call.arguments)
        {
            return true;
        }
        if harmless::is_harmless(call.program, call.arguments)
            || (is_awk(call.program) && is_plain_awk(call.arguments))
        {
            return true;
        }
        if replaces_hooks(call) {
            self.deny(format!("`{}` here replaces git's hooks: leave them as they are", call.program));
        }
        self.risky(format!("`{}` runs what cannot be read as a command", call.program));
        let words: Vec<&str> = call.arguments.iter().map(|field| field.text.as_str()).collect();
        let written = words.iter().map(|path| (path, self.content(path, state, call.stdin)));
        let written = written.filter(|(_, text)| !text.contains(UNKNOWN));
        let files: String = written.map(|(path, text)| recipes::called(path, &text, &words)).collect();
        for text in call.arguments.iter().map(|field| field.text.as_str()).chain([call.stdin, files.as_str()])
        {
            self.text_in(language, text);
            self.decoded_in(language, text);
        }
        if language == Language::Commands {
            let read = state.files.iter().filter(|(path, _)| recipes::is_read_unasked(path));
            let read = read.map(|(path, text)| recipes::called(path, text, &words));
            for text in read.collect::<Vec<_>>() {
                self.text_in(language, &text);
            }
            self.command_words(call.arguments);
        }
        self.commands_in_options(call.arguments);
        if is_editor(call.program) {
            for text in &words {
                self.mentioned_in(text);
            }
        }
        true
    }

    /// Looks through the text of a script that `program` runs.
    pub(super) fn foreign_text(&mut self, program: &str, text: &str) {
        self.text_in(language(program).unwrap_or(Language::Code), text);
    }

    fn text_in(&mut self, language: Language, text: &str) {
        let starts = language == Language::Commands || STARTERS.iter().any(|starter| text.contains(starter));
        if starts {
            for words in git_calls(text) {
                self.found(git::judge(&words));
            }
            let lines = text.lines().map(|line| line.trim_start_matches(['\t', ' ', '@', '-']));
            let commands: Vec<&str> = match language {
                Language::Code => {
                    self.command_lists(text);
                    literals(text)
                }
                Language::Commands => lines.collect(),
            };
            for command in commands.into_iter().filter(|text| text.contains(' ')).take(LITERALS) {
                self.perhaps_command(command);
            }
        }
        if language == Language::Code && (mentions_any(WRITERS, text) || prints_to_file(text)) {
            self.protected_in(text);
        }
    }

    /// Looks at words that are text in base64 or in hexadecimal digits: what is hidden is there to be run.
    fn decoded_in(&mut self, language: Language, text: &str) {
        let words = literals(text).into_iter().chain([text]).filter_map(disguised);
        for decoded in words.take(LITERALS) {
            self.text_in(language, &decoded);
            self.perhaps_command(&decoded);
        }
    }

    /// Reads lists of strings, `["rm", "-rf", "x"]`, as commands.
    fn command_lists(&mut self, text: &str) {
        let lists = text.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
        for (list, _) in lists.take(LITERALS) {
            let quoted: Vec<String> = literals(list).iter().map(|word| format!("'{word}'")).collect();
            self.perhaps_command(&quoted.join(" "));
        }
    }

    /// Judges text that may be a command; only what is certain of it counts.
    pub(super) fn perhaps_command(&mut self, text: &str) {
        if !self.is_program(text) {
            return;
        }
        let mut state = State::in_directories(vec![self.root.clone()]);
        self.certainly(|walker| _ = walker.run(text, &mut state, &UNKNOWN.to_string()));
    }

    /// Looks for strings that are protected paths where a program writes, removes or keeps them for later.
    ///
    /// That a path is mentioned says nothing: what skips or reads it mentions it too.
    fn protected_in(&mut self, text: &str) {
        for statement in text.split(['\n', ';']) {
            let writes = mentions_any(WRITERS, statement) || prints_to_file(statement);
            let access = if mentions_any(REMOVERS, statement) { Access::Remove } else { Access::Write };
            for literal in literals(statement).into_iter().filter(|text| !text.contains(char::is_whitespace))
            {
                let before = statement.split(literal).next().unwrap_or_default();
                let before = before.trim_end_matches(['"', '\'', '`']).trim_end();
                let ends = |with: &[&str]| with.iter().any(|end| before.ends_with(end));
                let is_kept = ends(&["=", "= Path(", "=Path(", "= pathlib.Path("]);
                if (writes || is_kept) && !ends(COMPARES) {
                    let state = State::in_directories(vec![self.root.clone()]);
                    self.certainly(|walker| walker.touch(literal, access, &state));
                }
            }
        }
        if removes_repository(text) {
            self.deny("files of the repository itself belong to git: change them with git's own commands");
        }
    }

    /// Looks for protected paths in the commands of an editor, which have no quotes.
    fn mentioned_in(&mut self, text: &str) {
        let mentions = |path: &str| {
            let inside = path.strip_prefix(&self.root).unwrap_or(path).trim_start_matches('/');
            text.contains(inside) || text.contains(path)
        };
        // A mere mention of `.git` says nothing: what skips it mentions it too. Its parts are looked for below.
        let is_repository = |path: &str| base_name(path) == ".git";
        let mut guarded = self.guarded.iter().filter(|guarded| !is_repository(&guarded.path));
        let hit = guarded.find(|guarded| mentions(&guarded.path));
        let reason =
            hit.map(|hit| format!("`{}` is not an agent's to write: {}", base_name(&hit.path), hit.instead));
        if let Some(reason) = reason {
            self.deny(reason);
        } else if mentions_any(REPOSITORY, text) || removes_repository(text) {
            self.deny("files of the repository itself belong to git: change them with git's own commands");
        }
    }

    /// Arguments that are a command of their own, as in `docker run IMAGE git push`, or carry one in `-c`.
    pub(super) fn command_words(&mut self, arguments: &[Field]) {
        if let Some(at) = arguments.iter().position(|field| base_name(&field.text) == "git") {
            self.certainly(|walker| walker.found(git::judge(&arguments[at + 1..])));
        }
        for pair in arguments
            .windows(2)
            .filter(|pair| matches!(pair[0].text.as_str(), "-c" | "--command" | "-ec" | "-lc"))
        {
            self.perhaps_command(&pair[1].text);
        }
    }
}

/// Programs whose commands name files without quotes.
fn is_editor(program: &str) -> bool {
    matches!(
        program,
        "vi" | "vim" | "nvim" | "ex" | "ed" | "view" | "emacs" | "nano" | "sqlite3" | "psql" | "gdb" | "lldb"
    )
}

/// Whether a manager of hooks is told to put its own in the place of git's.
fn replaces_hooks(call: &Call<'_>) -> bool {
    let arguments = call.arguments.iter().map(|field| field.text.as_str());
    let words = std::iter::once(call.program).chain(arguments.filter(|word| !word.starts_with('-')));
    let mut words = words.skip_while(|word| is_one_of("npx bunx pnpx npm pnpm yarn exec dlx", word));
    match (words.next(), words.next()) {
        (Some("husky"), None | Some("install" | "init" | "uninstall")) => true,
        (Some("lefthook" | "pre-commit"), Some("install" | "uninstall")) => true,
        (Some("simple-git-hooks"), _) => true,
        (Some(_) | None, _) => false,
    }
}

fn mentions_any(list: &str, text: &str) -> bool {
    list.split_ascii_whitespace().any(|word| text.contains(word))
}

fn removes_repository(text: &str) -> bool {
    let names = |rest: &str| rest.trim_start_matches([' ', '"', '\'']).starts_with(".git");
    REMOVERS.split_ascii_whitespace().any(|remover| text.split(remover).skip(1).any(names))
}

fn is_awk(program: &str) -> bool {
    matches!(program, "awk" | "gawk" | "mawk" | "nawk")
}

/// An awk program that neither runs nor writes anything.
fn is_plain_awk(arguments: &[Field]) -> bool {
    let unsafe_text = |text: &str| {
        text.contains("system")
            || text.contains("getline")
            || text.contains('@')
            || text.contains(UNKNOWN)
            || text.replace("||", "").contains('|')
            || prints_to_file(text)
    };
    // Only the separator and variables: other options load or write files.
    let mut rest = arguments.iter().map(|field| field.text.as_str());
    while let Some(text) = rest.next() {
        let is_option = text.len() > 1 && text.starts_with('-');
        let is_known = !is_option || text == "--" || text.starts_with("-F") || text.starts_with("-v");
        if !is_known || unsafe_text(text) {
            return false;
        }
        if matches!(text, "-F") {
            rest.next();
        }
    }
    true
}

/// `print > "file"`, `print > name`; a comparison stands in front of what is printed, or inside parentheses.
fn prints_to_file(text: &str) -> bool {
    text.split("print").skip(1).any(|rest| {
        let mut open = 0_usize;
        let mut quoted = false;
        for letter in rest.chars() {
            match letter {
                '"' => quoted = !quoted,
                _ if quoted => {}
                '(' | '[' => open += 1,
                ')' | ']' => open = open.saturating_sub(1),
                '>' if open == 0 => return true,
                ';' | '}' | '\n' => return false,
                _ => {}
            }
        }
        false
    })
}

/// Whether a program that shows text does nothing else: only options that change how it looks.
fn only_shows(program: &str, arguments: &[Field]) -> bool {
    let letters = match program {
        "less" | "more" => "FRXSNMmiIEegGnqsu0123456789",
        "man" => "kfaw0123456789",
        _ => "",
    };
    let plain = |text: &str| match text.strip_prefix('-') {
        Some(option) => !option.is_empty() && option.chars().all(|letter| letters.contains(letter)),
        None => !text.starts_with(['+', UNKNOWN]),
    };
    arguments.iter().all(|field| plain(&field.text))
}

/// Returns what stands between quotes.
fn literals(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(['"', '\'', '`']) {
        let quote = &rest[start..=start];
        let Some(length) = rest[start + 1..].find(quote) else { break };
        found.push(&rest[start + 1..start + 1 + length]);
        rest = &rest[start + length + 2..];
    }
    found
}

/// Finds the calls of git in a text: the word where a command may begin, and the words that follow it.
fn git_calls(text: &str) -> Vec<Vec<Field>> {
    let mut calls = Vec::new();
    for (at, _) in text.match_indices("git") {
        let before = text[..at].trim_end_matches([' ', '\t']);
        let path = before.ends_with('/');
        let opens = before.is_empty()
            || path
            || before
                .ends_with(['"', '\'', '`', '(', '[', '{', ';', '&', '|', '\n', ':', '!', '@', '=', '*']);
        let spaced = before.len() < at && !opens;
        let ends = text[at + 3..].starts_with([' ', '"', '\'', ',', '\t']);
        if opens && ends && !spaced {
            calls.push(words_after(&text[at + 3..]));
        }
    }
    calls
}

fn words_after(text: &str) -> Vec<Field> {
    let text = &text[..text.floor_char_boundary(CALL)];
    let end = text.find(['\n', ';', '|', '&', ')', '`', '<', '>']).unwrap_or(text.len());
    let words = text[..end].split([' ', '\t', '"', '\'', ',', '[', ']', '\\']);
    words.filter(|word| !word.is_empty()).take(WORDS).map(Field::plain).collect()
}
