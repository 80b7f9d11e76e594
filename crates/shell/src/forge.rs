//! The forges' command lines, and what else reaches a forge.

use super::{
    Judgement,
    call::Call,
    denied,
    options::{Options, Spec, asks_help},
    parse::UNKNOWN,
    walk::Walker,
    word::Field,
};

/// What the addresses of forges' interfaces have in them.
const FORGES: [&str; 4] = ["api.github", "/api/v1/repos", "/api/v3/", "/api/v4/"];

const ENGINE: &str = "the engine does it when the phase is done";

impl Walker<'_> {
    /// Judges a forge's command; false if the program is not one.
    pub(super) fn forge(&mut self, call: &Call<'_>) -> bool {
        let judgement = match call.program {
            "gh" => github(call.arguments),
            "glab" | "tea" | "berg" | "fj" => other_forge(call.program, call.arguments),
            "curl" | "wget" | "http" | "https" | "xh" => http(call.program, call.arguments),
            _ => return false,
        };
        self.found(judgement);
        true
    }
}

fn verbs(arguments: &[Field]) -> (&str, &str) {
    let options =
        Options::read(arguments, &Spec { short: "R", attached: "", long: &["repo", "hostname", "login"] });
    let word = |index: usize| options.operands.get(index).copied().unwrap_or_default();
    (word(0), word(1))
}

fn github(arguments: &[Field]) -> Judgement {
    let (group, verb) = verbs(arguments);
    let options = Options::read(arguments, &Spec::default());
    let what = format!("`gh {group} {verb}`");
    match (group, verb) {
        _ if asks_help(arguments.iter().map(|field| field.text.as_str())) => Judgement::Allowed,
        ("pr", "merge" | "update-branch" | "revert") => denied(&what, "merges", ENGINE),
        ("pr", "review") if options.short("a") || options.has("approve") => {
            denied(&what, "approves", "leave approval to a person")
        }
        ("pr", "checkout") if options.short("f") || options.has("force") => {
            denied(&what, "throws commits away", "leave the branch as it is")
        }
        ("pr", "close") if options.short("d") || options.has("delete-branch") => {
            denied(&what, "deletes a branch", "leave the branch as it is")
        }
        ("repo", "create" | "delete" | "sync" | "rename" | "archive" | "edit" | "set-default") => {
            denied(&what, "changes the repository itself", "ask a person")
        }
        ("release", "delete" | "create" | "edit") => denied(&what, "makes or deletes tags", "ask a person"),
        ("alias" | "config", "set" | "import" | "delete") => {
            denied(&what, "changes what `gh` runs", "call it directly")
        }
        ("api", _) => api(arguments),
        (
            "pr" | "issue" | "run" | "release" | "repo" | "workflow" | "label" | "gist",
            "view" | "list" | "status",
        )
        | ("pr", "diff" | "checks")
        | ("run", "watch" | "download")
        | ("auth", "status")
        | ("search" | "status" | "browse" | "help" | "", _)
        | ("issue" | "pr", "comment" | "edit" | "review" | "reopen" | "close" | "ready")
        | ("issue", "create") => Judgement::Allowed,
        ("pr", "create") => Judgement::Risky(format!("{what} may push the branch")),
        _ => Judgement::Risky(format!("{what} is not known here")),
    }
}

fn api(arguments: &[Field]) -> Judgement {
    const SPEC: Spec = Spec {
        short: "XfFHqtp",
        attached: "",
        long: &["method", "field", "raw-field", "header", "input", "jq", "template", "hostname", "preview"],
    };
    let options = Options::read(arguments, &SPEC);
    let method = options.values("X", "method").last().map(|method| method.to_ascii_uppercase());
    let fields = options.short("fF") || options.has_any(&["field", "raw-field", "input"]);
    let endpoint = options.operands.get(1).copied().unwrap_or_default();
    if endpoint.trim_start_matches('/') == "graphql" {
        return if may_mutate(arguments) || options.has("input") {
            denied("a change by `gh api graphql`", "cannot be followed", "use the command for it")
        } else {
            Judgement::Allowed
        };
    }
    let method = method.unwrap_or_else(|| if fields { "POST".to_owned() } else { "GET".to_owned() });
    request("`gh api`", &method, endpoint)
}

/// Whether a query for GraphQL changes something, or comes from where it cannot be read.
fn may_mutate(arguments: &[Field]) -> bool {
    let may = |text: &str| {
        text.contains("mutation") || text.contains(UNKNOWN) || text.starts_with('@') || text.contains("=@")
    };
    arguments.iter().any(|field| may(&field.text))
}

/// Judges a request to a forge by its method and its path.
fn request(what: &str, method: &str, path: &str) -> Judgement {
    if matches!(method, "GET" | "HEAD") {
        return Judgement::Allowed;
    }
    let moves =
        ["git/", "/merge", "merges", "/contents", "/branches", "refs", "/releases", "/forks", "/transfer"];
    if method == "DELETE" || path.contains(UNKNOWN) || moves.iter().any(|part| path.contains(part)) {
        return denied(&format!("{method} by {what}"), "moves or deletes what is in the repository", ENGINE);
    }
    Judgement::Risky(format!("{method} by {what} changes something on the forge"))
}

fn other_forge(program: &str, arguments: &[Field]) -> Judgement {
    let (group, verb) = verbs(arguments);
    let what = format!("`{program} {group} {verb}`");
    match verb {
        "merge" | "m" | "accept" => denied(&what, "merges", ENGINE),
        "delete" | "rm" | "clean" => denied(&what, "deletes what is in the repository", "ask a person"),
        "list" | "ls" | "view" | "show" | "status" | "diff" => Judgement::Allowed,
        _ => Judgement::Risky(format!("{what} is not known here")),
    }
}

/// A plain request. Only what is sent to a forge matters here.
fn http(program: &str, arguments: &[Field]) -> Judgement {
    const SPEC: Spec = Spec {
        short: "XdFHouTAebKm",
        attached: "",
        long: &["request", "data", "form", "output", "method", "json", "upload-file"],
    };
    let options = Options::read(arguments, &SPEC);
    // An option may carry the address as well.
    let is_forge = |text: &&str| FORGES.iter().any(|part| text.contains(part));
    let forge = arguments.iter().map(|field| field.text.as_str()).find(is_forge);
    let data = options.short("dFT")
        || options.has_any(&["data", "data-raw", "data-binary", "form", "json", "upload-file", "post-data"]);
    let asked = options.values("X", "request").last().or(options.values("", "method").last()).copied();
    let method = asked.unwrap_or(if data { "POST" } else { "GET" }).to_ascii_uppercase();
    let what = format!("`{program}`");
    if let Some(address) = forge {
        if address.contains("graphql") && may_mutate(arguments) {
            return denied(&format!("{method} by {what}"), "may change what is in the repository", ENGINE);
        }
        return request(&what, &method, address);
    }
    let unknown = options.operands.iter().find(|text| text.contains(UNKNOWN));
    if let Some(address) = unknown.filter(|_| method != "GET") {
        return request(&what, &method, address);
    }
    if options.short("K") || options.has("config") {
        return Judgement::Risky(format!("{what} reads its options from a file"));
    }
    Judgement::Allowed
}
