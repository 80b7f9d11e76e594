//! Programs whose effects are known: they read, build or measure, and leave git and other files alone.

use super::{
    call::Call, filters::filtered, guard::readable, parse::UNKNOWN, state::State, walk::Walker, word::Field,
};

/// Programs that are harmless, apart from the files that an option or operand of theirs names.
const HARMLESS: &str = "\
    ack actionlint ag b2sum b3sum base32 base64 basename bat batcat bc black cal cc cksum clang \
    clang-format clear cmp codespell colordiff column comm cut date dc delta df diff dig dir dirname du \
    dust egrep envsubst exa expand expr eza factor fgrep file fmt fold free g++ gcc getconf getent gofmt \
    goimports grep gron groups hadolint head hexdump host hostname iconv id isort join jq kill killall la \
    ld ldd ll locale look ls lsblk lscpu lsd lsof markdownlint md5sum mktemp netstat nl nm nproc nslookup \
    numfmt objdump od paste pgrep pidof ping pkill prettier printenv ps pyright readelf readlink realpath \
    rev rg ruff rustc rustfmt scc seq sha1sum sha256sum sha512sum shasum shellcheck shfmt shuf size sort \
    ss stat strings stty tac tail taplo tokei top tput tr tree tsc tsort tty typos uname unexpand uniq uptime \
    wc whereis whoami xxd yamllint yes yq zgrep";

/// Programs that are harmless with one of these as their first word, which may be none.
const HARMLESS_WITH: [(&str, &str); 8] = [
    (
        "cargo",
        "build b check c clippy fmt doc tree metadata search update add remove fetch clean info pkgid deny audit \
         locate-project machete outdated version help",
    ),
    ("go", "build vet fmt list version env doc mod help"),
    ("rustup", "show toolchain target component check which doc help"),
    ("pip", "list show freeze check download help"),
    ("pip3", "list show freeze check download help"),
    ("brew", "list info search help"),
    ("apt", "list show search help"),
    ("systemctl", "status is-active list-units show"),
];

/// Whether `name` is one of the words of `list`.
pub(super) fn is_one_of(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|word| word == name)
}

impl Walker {
    /// Judges a program that nobody else knows, and returns what it prints.
    pub(super) fn tool(&mut self, call: &Call<'_>, state: &mut State) -> String {
        let mut words = call.arguments.iter().map(|field| field.text.as_str());
        let verb = words.find(|text| !text.starts_with(['-', '+'])).unwrap_or_default();
        let with = |(program, verbs): &(&str, &str)| {
            *program == call.program && (verb.is_empty() || is_one_of(verbs, verb))
        };
        let harmless = is_one_of(HARMLESS, call.program) && !runs_another(call.arguments);
        if !harmless && !HARMLESS_WITH.iter().any(with) && !asks_version(call.arguments) {
            let knows_verbs = HARMLESS_WITH.iter().any(|(program, _)| *program == call.program);
            let shown =
                if knows_verbs { format!("{} {verb}", call.program) } else { call.program.to_owned() };
            self.risky(format!("what `{}` does is not known here", readable(&shown)));
            self.command_words(call.arguments);
            self.option_target(call, "o", state);
        }
        let mentions_warp = || call.arguments.iter().any(|field| field.text.contains("warp"));
        let stops = match call.program {
            "pkill" | "killall" => true,
            "systemctl" | "service" => !HARMLESS_WITH.iter().any(with),
            _ => false,
        };
        if stops && mentions_warp() {
            self.deny(format!("`{}` of warp is a person's to run: say why it should stop", call.program));
        }
        filtered(call).unwrap_or_else(|| UNKNOWN.to_string())
    }
}

/// Whether a program is only asked what it is.
pub(super) fn asks_version(arguments: &[Field]) -> bool {
    matches!(arguments, [only] if matches!(only.text.as_str(), "--version" | "--help" | "-V" | "-h"))
}

/// Options by which programs that search or show run another one for every file.
fn runs_another(arguments: &[Field]) -> bool {
    const RUN: [&str; 4] = ["--pre", "--pager", "--hostname-bin", "--compress-program"];
    let runs = |text: &str| {
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        // Two dashes and two letters are the least that can be clear.
        name.len() > 4 && RUN.iter().any(|option| option.starts_with(name))
    };
    arguments.iter().any(|field| runs(&field.text))
}
