//! Programs that only read, and the options with which they do more.
//!
//! A program is here only if nothing that a project can hold (settings, plugins, build scripts, a chosen toolchain) makes
//! it run something else. What builds, formats in place or loads plugins is not: it is allowed after a snapshot.

use super::{parse::UNKNOWN, programs::is_one_of, word::Field};

/// Programs that only read, whatever they are given.
const READERS: &str = "\
    [ b2sum b3sum base32 basename cal cksum clear cmp colordiff column comm cut df diff dir dirname du dust \
    egrep envsubst exa expand expr eza factor fgrep fmt fold free getconf getent grep gron groups hadolint head \
    hexdump id jobs join jq kill killall la ll locale look ls lsblk lscpu lsd md5sum nl nproc numfmt od paste \
    pgrep pidof ping pkill printenv ps readelf readlink realpath rev seq sha1sum sha224sum sha256sum \
    sha384sum sha512sum shasum shellcheck stat strings stty sum tac tail tr tsort tty uname unexpand \
    uptime wc whereis whoami yamllint yes zcat zgrep dig host nslookup netstat bc cat";

/// A program that reads, unless one of these options is given, clustered or shortened as it may be.
struct Reader {
    name: &'static str,
    short: &'static str,
    long: &'static [&'static str],
    /// Options that begin with one dash and have a name.
    named: &'static [&'static str],
    /// The most operands with which it only reads.
    operands: usize,
}

const fn reader(name: &'static str, short: &'static str, long: &'static [&'static str]) -> Reader {
    Reader { name, short, long, named: &[], operands: usize::MAX }
}

const WITH_OPTIONS: [Reader; 34] = [
    reader("ack", "", &["pager", "ackrc", "env"]),
    reader("ag", "", &["pager"]),
    reader("bat", "", &["pager", "config-file", "config-dir", "cache-dir"]),
    reader("batcat", "", &["pager", "config-file", "config-dir", "cache-dir"]),
    reader("base64", "o", &["output"]),
    Reader {
        named: &["shellcheck", "pyflakes", "init-config"],
        ..reader("actionlint", "", &["shellcheck", "pyflakes"])
    },
    reader("clang-format", "i", &[]),
    reader("lsof", "D", &[]),
    reader("date", "s", &["set"]),
    reader("delta", "", &["pager", "config"]),
    reader("file", "C", &["compile"]),
    Reader { named: &["cpuprofile"], ..reader("gofmt", "w", &[]) },
    Reader { operands: 0, ..reader("hostname", "Fb", &["file", "boot"]) },
    reader("iconv", "o", &["output"]),
    reader("nm", "", &["plugin"]),
    reader("objdump", "", &["plugin"]),
    reader("rg", "", &["pre", "hostname-bin"]),
    reader("scc", "o", &["output"]),
    reader("shfmt", "w", &["write"]),
    reader("shuf", "o", &["output"]),
    reader("size", "", &["plugin"]),
    reader("sort", "o", &["output", "compress-program", "temporary-directory"]),
    reader("ss", "K", &["kill"]),
    reader("tokei", "o", &["output"]),
    reader("top", "", &[]),
    reader("tree", "oR", &["output"]),
    reader("typos", "w", &["write-changes"]),
    Reader { operands: 1, ..reader("uniq", "", &[]) },
    Reader { operands: 1, ..reader("xxd", "", &[]) },
    reader("yq", "is", &["inplace", "split-exp", "in-place"]),
    // With one of the options below they only tell what they would change.
    reader("black", "", &[]),
    reader("isort", "", &[]),
    reader("ruff", "o", &["fix", "fix-only", "add-noqa", "output-file"]),
    reader("taplo", "o", &["output"]),
];

/// Programs that change files, unless they are told to look, and the words by which they are told.
const LOOKING: [(&str, &str); 4] = [
    ("black", "--check --diff"),
    ("isort", "--check --check-only --diff -c"),
    ("ruff", "--check --diff --no-fix"),
    ("taplo", "lint get check --check"),
];

/// Programs that are harmless with one of these as their first word, and nothing else that is an option.
const WITH_VERB: [(&str, &str); 8] = [
    ("cargo", "help version locate-project"),
    ("go", "version help doc"),
    ("rustup", "show which check help"),
    ("pip", "list show freeze check help"),
    ("pip3", "list show freeze check help"),
    ("brew", "list info search help"),
    ("apt", "list show search help"),
    ("systemctl", "status is-active list-units show"),
];

/// Options of those that change nothing.
const PLAIN: &str = "\
    --user --json --all --installed --no-pager --plain -v --verbose -q --quiet --version -a --outdated --format=json \
    --format=columns --upgradable -s --short";

/// Programs that say what they are without reading the project.
const ASKED: &str = "\
    bash curl docker g++ gcc clang git go java javac jq kubectl make node perl php podman python python3 ruby \
    rustup sqlite3 tar wget zsh";

/// Names of options that carry a command, in whatever program.
const CARRIERS: [&str; 22] = [
    "to-command",
    "checkpoint-action",
    "use-compress-program",
    "compress-program",
    "rsh",
    "rsh-command",
    "rmt-command",
    "rsync-path",
    "info-script",
    "new-volume-script",
    "open-files-in-pager",
    "pager",
    "pre",
    "hostname-bin",
    "wrapper",
    "toolexec",
    "vettool",
    "exec",
    "filter",
    "strip-program",
    "use-askpass",
    "extcmd",
];

/// Whether an option of that name carries a command.
pub(super) fn carries_command(name: &str) -> bool {
    // A beginning of five letters is enough of a long one.
    let begins = |known: &str| known == name || (name.len() > 4 && known.starts_with(name));
    CARRIERS.iter().any(|known| begins(known))
}

/// Whether a program is known by its first word.
pub(super) fn has_verbs(program: &str) -> bool {
    WITH_VERB.iter().any(|(name, _)| *name == program)
}

/// Whether a program only reads with these arguments.
pub(super) fn is_harmless(program: &str, arguments: &[Field]) -> bool {
    if is_one_of(READERS, program) {
        return true;
    }
    if is_one_of(ASKED, program) && super::programs::asks_version(arguments) {
        return true;
    }
    if let Some((_, verbs)) = WITH_VERB.iter().find(|(name, _)| *name == program) {
        let plain = |field: &&Field| is_one_of(PLAIN, &field.text);
        let mut rest = arguments.iter().skip_while(plain);
        let verb = rest.next().is_none_or(|verb| is_one_of(verbs, &verb.text));
        return verb && rest.all(|field| !field.text.starts_with(['-', UNKNOWN]) || plain(&field));
    }
    let looks = |(name, words): &(&str, &str)| {
        *name != program || arguments.iter().any(|field| is_one_of(words, &field.text))
    };
    let reader = WITH_OPTIONS.iter().find(|reader| reader.name == program);
    LOOKING.iter().all(looks) && reader.is_some_and(|reader| reader.only_reads(arguments))
}

impl Reader {
    fn only_reads(&self, arguments: &[Field]) -> bool {
        let mut operands = 0;
        for text in arguments.iter().map(|field| field.text.as_str()) {
            if text == "--" {
                continue;
            }
            // What is not known before it runs may be an option.
            if text.starts_with(UNKNOWN) || (text.starts_with('-') && text.contains(UNKNOWN)) {
                return false;
            }
            let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else {
                operands += 1;
                continue;
            };
            let is_refused = match option.strip_prefix('-') {
                Some(long) => {
                    let name = long.split_once('=').map_or(long, |(name, _)| name);
                    !name.is_empty() && self.long.iter().any(|known| known.starts_with(name))
                }
                None => {
                    let name = option.split_once('=').map_or(option, |(name, _)| name);
                    self.named.contains(&name) || option.contains(|letter| self.short.contains(letter))
                }
            };
            if is_refused {
                return false;
            }
        }
        operands <= self.operands
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn harmless(command: &str) -> bool {
        let mut words = command.split(' ');
        let program = words.next().unwrap();
        is_harmless(program, &words.map(Field::plain).collect::<Vec<_>>())
    }

    #[test]
    fn options_that_run_or_write_are_found_clustered_and_shortened() {
        for command in [
            "sort -uo names.txt names.txt",
            "sort --compress-prog=./x a",
            "sort --out=x a",
            "rg --pre ./x a",
            "bat --pager=./x a",
            "gofmt -lw .",
            "gofmt -cpuprofile=x .",
            "actionlint -shellcheck=./x",
            "xxd a b",
            "hostname other",
            "yq -iP .a x.yml",
            "cargo --config x.toml help",
            "cargo help --config=x",
            "pip list --python ./x",
            "systemctl --user stop x",
            "black src",
        ] {
            assert!(!harmless(command), "{command}");
        }
    }

    #[test]
    fn readers_stay_readers() {
        for command in [
            "sort -k2,2n -t: names.txt",
            "rg --pretty -n --type rust x",
            "bat -n --style=plain a",
            "gofmt -l .",
            "xxd a",
            "yq .a x.yml",
            "go version",
            "pip list --outdated",
            "systemctl --user status x",
            "black --check src",
            "ruff check --no-fix src",
            "python3 --version",
        ] {
            assert!(harmless(command), "{command}");
        }
    }
}
