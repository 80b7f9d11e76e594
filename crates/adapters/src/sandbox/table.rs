//! What is shown, hidden and kept, and what of the environment is passed on: one row each, with its reason.

use super::SandboxUser;

/// Visibility of a path of the person's home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visibility {
    /// It can be read.
    Read,
    /// It can be read, without the secrets in it.
    Cleaned,
    /// It is not there, although a directory that it is in may be.
    Hidden,
    /// A directory of the same name that the walls keep is there in its place.
    Kept,
}

/// A path below the person's home. What no row names is not there.
pub(super) struct Row {
    pub(super) path: &'static str,
    pub(super) shown: Visibility,
    /// Why it is so; the documentation is checked against it.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test holds the documentation to it"))]
    pub(super) why: &'static str,
}

/// What a coding agent's client needs of its own directory. What is not named is private, and gone afterwards.
pub(super) struct Client {
    /// As which agent it is known.
    pub(super) name: &'static str,
    pub(super) directory: &'static str,
    /// Configuration: seen, not written, because the person's own client would run what it says.
    pub(super) shown: &'static [&'static str],
    /// Logins that the client renews.
    pub(super) written: &'static [&'static str],
    /// Conversations, kept beside the caches so that they can be resumed.
    pub(super) kept: &'static [&'static str],
}

const fn read(path: &'static str, why: &'static str) -> Row {
    Row { path, shown: Visibility::Read, why }
}

const fn cleaned(path: &'static str, why: &'static str) -> Row {
    Row { path, shown: Visibility::Cleaned, why }
}

const fn hidden(path: &'static str, why: &'static str) -> Row {
    Row { path, shown: Visibility::Hidden, why }
}

const fn kept(path: &'static str, why: &'static str) -> Row {
    Row { path, shown: Visibility::Kept, why }
}

/// The home, for agents and content alike. Later rows lie on top of earlier ones.
pub(super) const HOME: &[Row] = &[
    read(".cargo", "a toolchain"),
    read(".rustup", "a toolchain"),
    read(".nvm", "a toolchain"),
    read(".volta", "a toolchain"),
    read(".fnm", "a toolchain"),
    read(".local/share/fnm", "a toolchain"),
    read(".nodenv", "a toolchain"),
    read(".n", "a toolchain"),
    read(".bun", "a toolchain"),
    read(".deno", "a toolchain"),
    read(".asdf", "a toolchain"),
    read(".local/share/mise", "a toolchain"),
    read(".local/share/rtx", "a toolchain"),
    read(".proto", "a toolchain"),
    read(".pyenv", "a toolchain"),
    read(".rye", "a toolchain"),
    read(".pixi", "a toolchain"),
    read(".conda", "a toolchain"),
    read("miniconda3", "a toolchain"),
    read("anaconda3", "a toolchain"),
    read("miniforge3", "a toolchain"),
    read("mambaforge", "a toolchain"),
    read("micromamba", "a toolchain"),
    read(".rbenv", "a toolchain"),
    read(".rvm", "a toolchain"),
    read(".goenv", "a toolchain"),
    read("go/bin", "a toolchain"),
    read("sdk", "a toolchain"),
    read(".sdkman", "a toolchain"),
    read(".jenv", "a toolchain"),
    read(".dotnet", "a toolchain"),
    read(".ghcup", "a toolchain"),
    read(".cabal", "a toolchain"),
    read(".stack", "a toolchain"),
    read(".opam", "a toolchain"),
    read(".julia", "a toolchain"),
    read(".elan", "a toolchain"),
    read(".mix", "a toolchain"),
    read(".hex", "a toolchain"),
    read(".luarocks", "a toolchain"),
    read(".swiftly", "a toolchain"),
    read(".local/share/swiftly", "a toolchain"),
    read(".zvm", "a toolchain"),
    read(".foundry", "a toolchain"),
    read(".wasmer", "a toolchain"),
    read(".wasmtime", "a toolchain"),
    read("flutter", "a toolchain"),
    read("Android/Sdk", "a toolchain"),
    read(".nix-profile", "a toolchain"),
    read(".local/state/nix", "a toolchain"),
    read(".guix-profile", "a toolchain"),
    read("R", "a toolchain"),
    read("perl5", "a toolchain"),
    read(".linuxbrew", "a toolchain"),
    read(".local/bin", "programs that were installed for this user"),
    read(".local/lib", "programs that were installed for this user"),
    read(".local/lib64", "programs that were installed for this user"),
    read(".local/libexec", "programs that were installed for this user"),
    read(".local/include", "programs that were installed for this user"),
    read(".local/opt", "programs that were installed for this user"),
    read(".local/pipx", "programs that were installed for this user"),
    read(".local/share/pipx", "programs that were installed for this user"),
    read(".local/share/uv", "programs that were installed for this user"),
    read(".local/share/pnpm", "programs that were installed for this user"),
    read(".local/share/virtualenvs", "programs that were installed for this user"),
    read(".virtualenvs", "programs that were installed for this user"),
    read(".local/share/pypoetry", "programs that were installed for this user"),
    read(".local/share/gem", "programs that were installed for this user"),
    read(".local/share/coursier", "programs that were installed for this user"),
    read(".local/share/claude", "programs that were installed for this user"),
    read(".opencode", "programs that were installed for this user"),
    read(".npm-global", "programs that were installed for this user"),
    read(".npm-packages", "programs that were installed for this user"),
    read(".yarn", "programs that were installed for this user"),
    read(".config/yarn/global", "programs that were installed for this user"),
    read(".gem", "programs that were installed for this user"),
    read(".composer/vendor", "programs that were installed for this user"),
    read(".config/composer/vendor", "programs that were installed for this user"),
    read(".pub-cache", "programs that were installed for this user"),
    read(".platformio", "programs that were installed for this user"),
    read(".tool-versions", "which version of a tool is wanted"),
    read(".asdfrc", "which version of a tool is wanted"),
    read(".local/state/mise", "which version of a tool is wanted"),
    read(".default-npm-packages", "which version of a tool is wanted"),
    read(".config/git/ignore", "what git leaves out"),
    read(".config/git/attributes", "how git treats files"),
    read(".gitignore", "what git leaves out"),
    read(".gitignore_global", "what git leaves out"),
    read(".gitattributes", "how git treats files"),
    cleaned(".gitconfig", "who commits, and how git works"),
    cleaned(".config/git/config", "who commits, and how git works"),
    cleaned(".cargo/config.toml", "which registries and linkers there are"),
    cleaned(".cargo/config", "which registries and linkers there are"),
    cleaned(".config/pip/pip.conf", "which index there is"),
    cleaned(".pip/pip.conf", "which index there is"),
    cleaned(
        ".config/mise/config.toml",
        "which version of a tool is wanted, and variables, which may be secret",
    ),
    cleaned(".config/pypoetry/config.toml", "which index there is"),
    cleaned(".config/go/env", "which proxy there is"),
    cleaned(".gemrc", "which source there is"),
    cleaned(".bunfig.toml", "which registry there is"),
    cleaned(".condarc", "which channels there are"),
    cleaned(".cabal/config", "which package servers there are"),
    hidden(".ssh", "keys to other machines and forges"),
    hidden(".gnupg", "signing keys"),
    hidden(".netrc", "passwords of web services"),
    hidden(".git-credentials", "tokens of forges"),
    hidden(".config/git/credentials", "tokens of forges"),
    hidden(".config/gh", "GitHub's token"),
    hidden(".config/hub", "GitHub's token"),
    hidden(".config/glab-cli", "GitLab's token"),
    hidden(".config/tea", "Gitea's and Forgejo's token"),
    hidden(".aws", "cloud keys"),
    hidden(".azure", "cloud keys"),
    hidden(".config/gcloud", "cloud keys"),
    hidden(".oci", "cloud keys"),
    hidden(".docker", "tokens of registries"),
    hidden(".config/containers/auth.json", "tokens of registries"),
    hidden(".kube", "keys to clusters"),
    hidden(".npmrc", "a token to publish packages; the project's own `.npmrc` still names its registry"),
    hidden(".yarnrc.yml", "a token to publish packages"),
    hidden(".pypirc", "a token to publish packages"),
    hidden(".cargo/credentials", "a token to publish crates"),
    hidden(".cargo/credentials.toml", "a token to publish crates"),
    hidden(".gem/credentials", "a token to publish gems"),
    hidden(".m2/settings.xml", "passwords of repositories"),
    hidden(".password-store", "passwords"),
    hidden(".local/share/keyrings", "passwords"),
    hidden(".mozilla", "a browser's sessions"),
    hidden(".config/google-chrome", "a browser's sessions"),
    hidden(".config/chromium", "a browser's sessions"),
    hidden(".bash_history", "what was typed, passwords included"),
    hidden(".zsh_history", "what was typed, passwords included"),
    hidden(".local/share/fish", "what was typed, passwords included"),
    hidden(".psql_history", "what was typed, passwords included"),
    hidden(".pgpass", "passwords of databases"),
    hidden(".my.cnf", "passwords of databases"),
    hidden(".vault-token", "a key to all others"),
    hidden(".config/op", "passwords"),
    hidden(".1password", "a socket that leads to keys"),
    hidden(".colima", "a socket that starts containers outside"),
    hidden(".lima", "a socket that starts machines outside"),
    hidden(".claude", "a login; agents see the part that they need"),
    hidden(".claude.json", "a login; agents get a copy"),
    hidden(".codex", "a login; agents see the part that they need"),
    hidden(".gemini", "a login; agents see the part that they need"),
    hidden(".local/share/opencode", "a login; agents see the part that they need"),
    hidden(".config/opencode", "keys of providers; agents see the part that they need"),
    hidden(".hex/hex.config", "a token to publish packages"),
    hidden(".pub-cache/credentials.json", "a token to publish packages"),
    hidden(".stack/upload/credentials.json", "a token to publish packages"),
    hidden(".julia/servers", "a token of a package server"),
    hidden(".platformio/appstate.json", "a login"),
    hidden(".wasmer/wasmer.toml", "a login"),
    hidden(".conda/aau_token", "a login"),
    hidden(".local/share/uv/credentials", "passwords of package servers"),
    hidden(".foundry/keystores", "keys to wallets"),
    hidden(".dotnet/corefx", "private keys"),
    hidden(".luarocks/upload_config.lua", "a token to publish packages"),
    hidden(".local/share/gem/credentials", "a token to publish gems"),
    hidden(".julia/logs", "what was typed, passwords included"),
    hidden(".deno/deno_history.txt", "what was typed, passwords included"),
    hidden(".config/github-copilot", "a login"),
    kept(".cache", "builds fill it, and what one agent puts there must not reach the person's own builds"),
    kept(".cargo/registry", "sources that builds run: as `.cache`"),
    kept(".cargo/git", "sources that builds run: as `.cache`"),
    kept(".npm", "packages that builds run: as `.cache`"),
    kept("go/pkg", "sources that builds run: as `.cache`"),
    kept(".m2/repository", "packages that builds run: as `.cache`"),
    kept(".gradle", "packages that builds run: as `.cache`"),
    kept(".nuget", "packages that builds run: as `.cache`"),
    kept(".ivy2", "packages that builds run: as `.cache`"),
    kept(".sbt", "packages that builds run: as `.cache`"),
];

/// What agents see of their clients' directories.
pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "claude",
        directory: ".claude",
        shown: &[
            "settings.json",
            "settings.local.json",
            "CLAUDE.md",
            "agents",
            "commands",
            "hooks",
            "local",
            "output-styles",
            "plugins",
            "rules",
            "skills",
        ],
        written: &[".credentials.json"],
        kept: &["projects"],
    },
    Client {
        name: "codex",
        directory: ".codex",
        shown: &["config.toml", "hooks.json", "AGENTS.md", "prompts", "rules", "skills"],
        written: &["auth.json"],
        kept: &["sessions"],
    },
    Client {
        name: "gemini",
        directory: ".gemini",
        shown: &["settings.json", "GEMINI.md", "commands", "extensions"],
        written: &["oauth_creds.json", "google_accounts.json"],
        kept: &["tmp"],
    },
    Client {
        name: "opencode",
        directory: ".local/share/opencode",
        shown: &[],
        written: &["auth.json"],
        kept: &["storage"],
    },
    Client {
        name: "opencode",
        directory: ".config/opencode",
        shown: &[
            "opencode.json",
            "opencode.jsonc",
            "AGENTS.md",
            "agent",
            "agents",
            "command",
            "commands",
            "plugin",
            "plugins",
            "skills",
        ],
        written: &[],
        kept: &[],
    },
];

/// Variables that are passed on and name places: what lies there is shown, and what is hidden in the home is hidden there
/// too, because the directory of the second column has been moved.
pub(super) const MOVED: &[(&str, &str)] = &[
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("GOPATH", "go"),
    ("NVM_DIR", ".nvm"),
];

/// Variables that are passed on and name a file or a directory of a toolchain or of git's.
pub(super) const PLACES: &[&str] =
    &["GOROOT", "JAVA_HOME", VIRTUAL_ENV, "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"];

/// The variable that names the virtual environment of Python that is in use.
pub(super) const VIRTUAL_ENV: &str = "VIRTUAL_ENV";

/// The variable that names git's own configuration, in the place of `.gitconfig`.
pub(super) const GIT_CONFIG: &str = "GIT_CONFIG_GLOBAL";

/// Directories that hold far more than programs: they are never shown as a whole.
pub(super) const NEVER_WHOLE: &[&str] = &["", ".local", ".local/share", ".local/state", ".config", ".cache"];

/// What belongs to a directory of programs and lies beside it.
pub(super) const BESIDE_BIN: &[&str] = &["lib", "lib64", "libexec", "share"];

/// A client's file that its agents get a copy of: it holds a login, and programs that the person's own client starts.
pub(super) const COPIED: &str = ".claude.json";
/// The client whose file that is.
pub(super) const COPIED_FOR: &str = "claude";

/// Variables that are a login, each with the client that it is for.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("ANTHROPIC_API_KEY", "claude"),
    ("ANTHROPIC_AUTH_TOKEN", "claude"),
    ("CLAUDE_CODE_OAUTH_TOKEN", "claude"),
    ("OPENAI_API_KEY", "codex"),
    ("CODEX_API_KEY", "codex"),
    ("GEMINI_API_KEY", "gemini"),
    ("GOOGLE_API_KEY", "gemini"),
];

/// Directories of the system that are empty within the walls: other programs' files, and sockets, which a read-only
/// world does not close.
pub(super) const EMPTY: &[&str] = &["/tmp", "/var/tmp", "/run", "/var/run"];

/// What of those is put back: without it no name would be resolved, and on some systems no program found.
pub(super) const PUT_BACK: &[&str] = &[
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager/resolv.conf",
    "/run/nscd",
    "/run/current-system",
    "/run/wrappers",
    "/run/opengl-driver",
];

/// Variables that are passed on. A star at the end stands for anything. Nothing else is: `GH_TOKEN`,
/// `SSH_AUTH_SOCK` and whatever else holds a secret or leads to one stays outside by not being here.
const VARIABLES: &[(&str, SandboxUser)] = &[
    ("PATH", SandboxUser::Content),
    ("HOME", SandboxUser::Content),
    ("USER", SandboxUser::Content),
    ("LOGNAME", SandboxUser::Content),
    ("SHELL", SandboxUser::Content),
    ("LANG", SandboxUser::Content),
    ("LANGUAGE", SandboxUser::Content),
    ("LC_*", SandboxUser::Content),
    ("TERM", SandboxUser::Content),
    ("NO_COLOR", SandboxUser::Content),
    ("TZ", SandboxUser::Content),
    ("XDG_CONFIG_HOME", SandboxUser::Content),
    ("XDG_DATA_HOME", SandboxUser::Content),
    ("XDG_STATE_HOME", SandboxUser::Content),
    ("XDG_DATA_DIRS", SandboxUser::Content),
    ("XDG_CONFIG_DIRS", SandboxUser::Content),
    // Where toolchains are.
    ("CARGO_HOME", SandboxUser::Content),
    ("RUSTUP_HOME", SandboxUser::Content),
    ("RUSTUP_TOOLCHAIN", SandboxUser::Content),
    ("GOPATH", SandboxUser::Content),
    ("GOROOT", SandboxUser::Content),
    ("JAVA_HOME", SandboxUser::Content),
    ("NVM_DIR", SandboxUser::Content),
    ("VIRTUAL_ENV", SandboxUser::Content),
    // Who commits, in tests that make repositories.
    ("GIT_AUTHOR_NAME", SandboxUser::Content),
    ("GIT_AUTHOR_EMAIL", SandboxUser::Content),
    ("GIT_COMMITTER_NAME", SandboxUser::Content),
    ("GIT_COMMITTER_EMAIL", SandboxUser::Content),
    ("GIT_CONFIG_GLOBAL", SandboxUser::Content),
    ("GIT_CONFIG_NOSYSTEM", SandboxUser::Content),
    // How the network is reached.
    ("http_proxy", SandboxUser::Content),
    ("https_proxy", SandboxUser::Content),
    ("no_proxy", SandboxUser::Content),
    ("all_proxy", SandboxUser::Content),
    ("HTTP_PROXY", SandboxUser::Content),
    ("HTTPS_PROXY", SandboxUser::Content),
    ("NO_PROXY", SandboxUser::Content),
    ("ALL_PROXY", SandboxUser::Content),
    ("SSL_CERT_FILE", SandboxUser::Content),
    ("SSL_CERT_DIR", SandboxUser::Content),
    ("NODE_EXTRA_CA_CERTS", SandboxUser::Content),
    // How an agent's client reaches its model, and what the person has set for it.
    ("ANTHROPIC_*", SandboxUser::Agent),
    ("CLAUDE_*", SandboxUser::Agent),
    ("DISABLE_TELEMETRY", SandboxUser::Agent),
    ("DISABLE_ERROR_REPORTING", SandboxUser::Agent),
    ("OPENAI_*", SandboxUser::Agent),
    ("CODEX_API_KEY", SandboxUser::Agent),
    ("GEMINI_*", SandboxUser::Agent),
    ("GOOGLE_API_KEY", SandboxUser::Agent),
];

/// Variables that would make a client take itself for part of another one's session.
const NOT_PASSED: &[&str] = &[
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_ENV_FILE",
    "CLAUDE_EFFORT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_TMPDIR",
];

/// Tells whether a variable is passed on.
pub(super) fn passes(who: SandboxUser, name: &str) -> bool {
    let matches = |pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    };
    let is_for = |to: SandboxUser| to == SandboxUser::Content || who == SandboxUser::Agent;
    !NOT_PASSED.contains(&name) && VARIABLES.iter().any(|(pattern, to)| is_for(*to) && matches(pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_token_but_the_agents_own_is_passed_on_and_that_to_agents_only() {
        for name in ["PATH", "HOME", "LC_ALL", "https_proxy"] {
            assert!(passes(SandboxUser::Agent, name) && passes(SandboxUser::Content, name), "{name}");
        }
        for name in ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY"] {
            assert!(passes(SandboxUser::Agent, name) && !passes(SandboxUser::Content, name), "{name}");
        }
        for name in
            ["GH_TOKEN", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY", "CARGO_REGISTRY_TOKEN"]
        {
            assert!(!passes(SandboxUser::Agent, name) && !passes(SandboxUser::Content, name), "{name}");
        }
        assert!(!passes(SandboxUser::Agent, "CLAUDE_PID"));
    }

    #[test]
    fn every_row_has_a_reason_and_is_documented() {
        let page = include_str!("../../../../docs/sandbox.md");
        for row in HOME {
            assert!(!row.why.is_empty() && page.contains(&format!("`~/{}`", row.path)), "{}", row.path);
        }
    }
}
