//! Tools of MCP servers: what each does is known from a list, never guessed from its name.
//!
//! A server is trusted by the name that a person gave it. Its tools that only read are data ([`LIST`]); a person can add
//! to them with the setting `mcp_tools`. Everything else is refused, because nobody here can tell what it would do to
//! a remote.

/// What agents know warp's own server by.
const OWN: &str = "warp";

const LIST: &str = include_str!("mcp.txt");

/// What comes before the name of a server that a plugin or an account brings.
const BROUGHT: [&str; 2] = ["plugin_", "claude_ai_"];

/// Words for what no agent does, whatever server offers it.
const NEVER: &[&str] = &[
    "commit", "merge", "approve", "push", "run", "execute", "exec", "eval", "rebase", "revert", "reset",
    "force", "cherry", "amend", "deploy", "dispatch", "rerun", "trigger",
];

/// Words of which the names of tools are made that are like a shell.
const SHELL: &[&str] = &[
    "bash", "command", "cmd", "exec", "execute", "in", "process", "run", "script", "sh", "shell", "start",
    "terminal",
];

/// Classification of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolAccess {
    /// Warp's own.
    Own,
    Reads,
    /// Writes the files that its input names.
    Files,
    /// A person has listed it.
    Listed,
    /// It commits, merges, approves, pushes or runs something.
    Never,
    No,
}

/// Returns server and tool, if a tool is one of a server's.
pub(crate) fn parts(name: &str) -> Option<(&str, &str)> {
    let parts = name.strip_prefix("mcp__").unwrap_or(name).split_once("__");
    parts.filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

/// Tells what is known of a tool, going by the built-in list alone.
pub(crate) fn built_in((server, tool): (&str, &str)) -> ToolAccess {
    if is_server(server, OWN) {
        return ToolAccess::Own;
    }
    let lines = LIST.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| {
        line.split_once('\t').and_then(|(name, rest)| Some((name, rest.split_once('\t')?)))
    });
    let mut rows = rows.filter(|(name, (_, tools))| {
        is_server(server, name) && tools.split_ascii_whitespace().any(|known| known == tool)
    });
    match rows.next() {
        Some((_, ("reads", _))) => ToolAccess::Reads,
        Some((_, ("files", _))) => ToolAccess::Files,
        Some(_) | None => ToolAccess::No,
    }
}

/// Tells what is known of a tool that is not on the built-in list, with what a person has listed: `server/tool`, or
/// `server/*` for all of a server's tools.
pub(crate) fn listed((server, tool): (&str, &str), entries: &[String]) -> ToolAccess {
    let words = words(tool);
    let is_never = |word: &String| NEVER.contains(&word.as_str());
    // The name of the server is often the first word of its tools.
    let verb = words.iter().find(|word| !server.to_lowercase().contains(word.as_str()));
    let split = entries.iter().filter_map(|entry| entry.split_once('/'));
    let mut of_server = split.filter(|(name, _)| is_server(server, name));
    match of_server.find(|(_, named)| *named == tool || *named == "*") {
        Some((_, "*")) if words.iter().any(is_never) => ToolAccess::Never,
        Some(_) if verb.is_some_and(is_never) => ToolAccess::Never,
        Some(_) => ToolAccess::Listed,
        None if verb.is_some_and(is_never) => ToolAccess::Never,
        None => ToolAccess::No,
    }
}

/// Tells whether a tool is like a shell: one that has another purpose could be given a command that it does not look at.
pub(crate) fn is_shell((_, tool): (&str, &str)) -> bool {
    words(tool).iter().all(|word| SHELL.contains(&word.as_str()))
}

/// Says why a tool is refused, and what to do.
pub(crate) fn refusal((server, tool): (&str, &str), known: ToolAccess) -> String {
    match known {
        ToolAccess::Never => format!(
            "`{server}/{tool}` commits, merges, approves, pushes or runs something, which is not an agent's to do in any \
             phase: report the phase as done, or ask a person"
        ),
        ToolAccess::Own | ToolAccess::Reads | ToolAccess::Files | ToolAccess::Listed | ToolAccess::No => {
            format!(
                "`{server}/{tool}` is not on the list of tools that only read: work without it, or ask a person to add it to \
             the setting `mcp_tools`"
            )
        }
    }
}

/// Tells whether a server is the one of that name, which a plugin or an account may have brought.
fn is_server(server: &str, name: &str) -> bool {
    if server.eq_ignore_ascii_case(name) {
        return true;
    }
    let brought = BROUGHT.iter().find_map(|prefix| server.strip_prefix(prefix)).map(str::to_lowercase);
    brought.is_some_and(|rest| {
        let name = name.to_lowercase();
        rest == name || rest.strip_suffix(&name).is_some_and(|rest| rest.ends_with('_'))
    })
}

/// Takes a name apart: `pushFiles`, `push_files` and `push-files` are two words.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = '_';
    for letter in name.chars() {
        let starts = !before.is_alphanumeric() || (letter.is_uppercase() && before.is_lowercase());
        before = letter;
        if !letter.is_alphanumeric() {
            continue;
        }
        if starts {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str, entries: &[&str]) -> ToolAccess {
        let parts = parts(name).unwrap();
        let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        let known = built_in(parts);
        if known == ToolAccess::No { listed(parts, &entries) } else { known }
    }

    #[test]
    fn the_list_can_be_read() {
        for line in LIST.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            assert!(
                matches!(fields.as_slice(), [_, "reads" | "files", tools] if !tools.is_empty()),
                "{line}"
            );
        }
    }

    #[test]
    fn reading_tools_of_named_servers_are_known_whoever_brings_the_server() {
        for name in [
            "mcp__github__get_commit",
            "mcp__plugin_github_github__list_commits",
            "mcp__claude_ai_Linear__list_issues",
            "mcp__git__git_log",
            "github__search_code",
        ] {
            assert_eq!(known(name, &[]), ToolAccess::Reads, "{name}");
        }
        assert_eq!(known("mcp__warp__done", &[]), ToolAccess::Own);
        assert_eq!(known("mcp__plugin_warp-drive_warp__done", &[]), ToolAccess::Own);
        assert_eq!(known("mcp__filesystem__write_file", &[]), ToolAccess::Files);
    }

    #[test]
    fn words_in_a_name_make_no_tool_a_reader() {
        for name in [
            "mcp__acme__get_then_publish",
            "mcp__acme__read_file",
            "mcp__github__read_and_close",
            "mcp__github__x__get_commit",
            "mcp__github2__get_commit",
            "mcp__my_warp__done",
            "mcp__forge__create_or_update_file",
            "mcp__tracker__show_status_and_tell_all",
        ] {
            assert_eq!(known(name, &[]), ToolAccess::No, "{name}");
        }
    }

    #[test]
    fn what_commits_merges_approves_pushes_or_runs_is_never_an_agents() {
        for name in [
            "mcp__git__git_commit",
            "mcp__github__push_files",
            "mcp__github__merge_pull_request",
            "mcp__forge__approveMergeRequest",
            "mcp__ci__run-workflow",
            "mcp__ide__executeCode",
        ] {
            assert_eq!(known(name, &[]), ToolAccess::Never, "{name}");
            let (server, _) = parts(name).unwrap();
            assert_eq!(known(name, &[&format!("{server}/*")]), ToolAccess::Never, "{name}");
        }
        assert_eq!(known("mcp__git__git_commit", &["git/git_commit"]), ToolAccess::Never);
        assert_eq!(known("mcp__x__get_and_merge", &["x/*"]), ToolAccess::Never);
    }

    #[test]
    fn only_a_tool_with_no_other_purpose_is_like_a_shell() {
        for name in
            ["mcp__x__execute_command", "mcp__x__runInTerminal", "mcp__x__bash", "mcp__x__start_process"]
        {
            assert!(is_shell(parts(name).unwrap()), "{name}");
        }
        for name in ["mcp__x__run_workflow", "mcp__x__execute_merge", "mcp__x__push", "mcp__x__shell_upload"]
        {
            assert!(!is_shell(parts(name).unwrap()), "{name}");
        }
    }

    #[test]
    fn a_person_can_list_a_tool_or_all_of_a_server() {
        assert_eq!(known("mcp__acme__create_issue", &["acme/create_issue"]), ToolAccess::Listed);
        assert_eq!(known("mcp__acme__create_issue", &["other/create_issue", "acme/*"]), ToolAccess::Listed);
        assert_eq!(known("mcp__acme__get_latest_run", &["acme/get_latest_run"]), ToolAccess::Listed);
        assert_eq!(known("mcp__acme__create_issue", &["*/create_issue", "acme/create"]), ToolAccess::No);
    }
}
