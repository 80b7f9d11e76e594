//! The environment of programs: what a variable makes them run, load or read.
//!
//! A variable that is not known to be harmless may change what the programs after it are or do.

use super::{git::config, guard::Access, programs::is_one_of, state::State, walk::Walker};

/// Variables by which programs, and what they load first, are found. They count also where the shell keeps them to
/// itself: most are exported already.
const FINDS_PROGRAMS: &str = "\
    PATH BASH_ENV ENV LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT PROMPT_COMMAND DYLD_INSERT_LIBRARIES \
    DYLD_LIBRARY_PATH HOME XDG_CONFIG_HOME ZDOTDIR BASH_ALIASES BASH_CMDS PS0 PS1 PS2 PS4 SHELL TMPDIR \
    NODE_OPTIONS PYTHONPATH PYTHONSTARTUP PERL5OPT PERL5LIB RUBYOPT GOFLAGS RUSTFLAGS MAKEFLAGS CARGO_HOME \
    RUSTUP_HOME JAVA_TOOL_OPTIONS";

/// Variables that make git read other settings, run other programs or keep its objects elsewhere.
const FOREIGN: &str = "\
    GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_EXEC_PATH \
    GIT_TEMPLATE_DIR GIT_SSH GIT_SSH_COMMAND GIT_PROXY_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS \
    GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_OBJECT_DIRECTORY GIT_COMMON_DIR GIT_NAMESPACE GIT_ALLOW_PROTOCOL \
    GIT_DIFFTOOL_EXTCMD GIT_DIFF_TOOL GIT_GRAFT_FILE GIT_MAN_VIEWER GIT_QUARANTINE_PATH GIT_REPLACE_REF_BASE \
    GIT_SHALLOW_FILE GIT_SHELL_PATH GIT_IMPLICIT_WORK_TREE GIT_ATTR_SOURCE GIT_ATTR_GLOBAL GIT_ATTR_SYSTEM \
    GIT_TEST_MAINT_SCHEDULER GIT_TEST_FSMONITOR GIT_TEST_ASSUME_DIFFERENT_OWNER GIT_REFERENCE_BACKEND";

/// Variables that name a program.
const PROGRAMS: &str = "\
    GIT_PAGER PAGER GIT_EDITOR EDITOR VISUAL GIT_SEQUENCE_EDITOR LESSOPEN LESSCLOSE MANPAGER BROWSER BAT_PAGER \
    DELTA_PAGER SYSTEMD_PAGER GH_PAGER GH_BROWSER GH_EDITOR RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTC \
    RUSTDOC CC CXX LD MAKE SUDO_ASKPASS RSYNC_RSH RSYNC_CONNECT_PROG SHELL FCEDIT";

/// Variables that change what programs print or test, and never what they run.
const HARMLESS: &str = "\
    CI DEBUG LANG LANGUAGE TZ TERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLORTERM \
    RUST_LOG RUST_BACKTRACE RUST_LIB_BACKTRACE RUST_TEST_THREADS CARGO_TERM_COLOR CARGO_INCREMENTAL NODE_ENV \
    NEXT_TELEMETRY_DISABLED PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING \
    PYTHONUTF8 PYTHONWARNINGS CGO_ENABLED GOOS GOARCH GO111MODULE APP_ENV RAILS_ENV FLASK_ENV PORT VERBOSE \
    DEBIAN_FRONTEND";

/// The same for git.
const HARMLESS_GIT: &str = "\
    GIT_ADVICE GIT_AUTHOR_DATE GIT_AUTHOR_EMAIL GIT_AUTHOR_NAME GIT_COMMITTER_DATE GIT_COMMITTER_EMAIL \
    GIT_COMMITTER_NAME GIT_CEILING_DIRECTORIES GIT_CONFIG_NOSYSTEM GIT_DISCOVERY_ACROSS_FILESYSTEM GIT_FLUSH \
    GIT_LITERAL_PATHSPECS GIT_GLOB_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS GIT_MERGE_AUTOEDIT \
    GIT_OPTIONAL_LOCKS GIT_NO_REPLACE_OBJECTS GIT_PAGER_IN_USE GIT_PROGRESS_DELAY GIT_TERMINAL_PROMPT";

impl Walker<'_> {
    /// Judges a variable for what it means to git and to the way programs are found.
    pub(super) fn environment(&mut self, name: &str, value: &str, state: &State) {
        if is_one_of(FINDS_PROGRAMS, name) || name.starts_with("LD_") || name.starts_with("DYLD_") {
            self.risky(format!("`{name}` changes what the programs after it are or do"));
        } else if name.starts_with("GIT_TRACE") && value.starts_with('/') {
            self.touch(value, Access::Write, state);
        } else if is_one_of("GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM", name) && value == "/dev/null" {
            // Nothing is read instead of something.
        } else if is_one_of(FOREIGN, name)
            || name.starts_with("GIT_CONFIG_KEY_")
            || name.starts_with("GIT_CONFIG_VALUE_")
        {
            self.deny(format!("`{name}` changes what git runs or reads: leave it unset"));
        } else if is_one_of(PROGRAMS, name) && !config::is_harmless_program(value) {
            self.risky(format!("`{name}` names a program that other programs run"));
            self.perhaps_command(value);
        }
    }

    /// Judges that programs are given a variable.
    pub(super) fn exported(&mut self, name: &str, state: &State) {
        let value = state.get(name).map(<[String]>::concat).unwrap_or_default();
        let is_known = is_one_of(HARMLESS, name)
            || is_one_of(HARMLESS_GIT, name)
            || name.starts_with("LC_")
            || (is_one_of(PROGRAMS, name) && config::is_harmless_program(&value))
            // Git's own place is looked at where git is called.
            || is_one_of("GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE", name)
            || (is_one_of("GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM", name) && value == "/dev/null")
            || (name.starts_with("GIT_TRACE") && is_one_of("0 1 2 true false", &value));
        if !is_known {
            self.risky(format!("`{name}` may change what the programs after it do"));
        }
    }
}
