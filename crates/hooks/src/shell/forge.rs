//! The forges' command lines, and what else reaches a forge.

use super::{
    Judgement,
    call::Call,
    git::denied,
    options::{Options, Spec},
    parse::UNKNOWN,
    walk::Walker,
    word::Field,
};

const ENGINE: &str = "the engine does it when the phase is done";

impl Walker {
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
        ("pr", "merge" | "update-branch" | "revert") => denied(&what, "merges", ENGINE),
        ("pr", "checkout") if options.short("f") || options.has("force") => {
            denied(&what, "throws commits away", "leave the branch as it is")
        }
        ("pr", "close") if options.short("d") || options.has("delete-branch") => {
            denied(&what, "deletes a branch", "leave the branch as it is")
        }
        ("repo", "delete" | "sync" | "rename" | "archive" | "edit" | "set-default") => {
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
        | ("issue" | "pr", "comment" | "edit" | "create" | "review" | "reopen" | "close" | "ready") => {
            Judgement::Allowed
        }
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
    if endpoint == "graphql" {
        let mutates =
            arguments.iter().any(|field| field.text.contains("mutation") || field.text.contains(UNKNOWN));
        return match mutates || options.has("input") {
            true => denied("a change by `gh api graphql`", "cannot be followed", "use the command for it"),
            false => Judgement::Allowed,
        };
    }
    let method = method.unwrap_or_else(|| if fields { "POST".to_owned() } else { "GET".to_owned() });
    request("`gh api`", &method, endpoint)
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
        long: &[
            "request",
            "data",
            "form",
            "header",
            "output",
            "method",
            "json",
            "data-raw",
            "data-binary",
            "upload-file",
        ],
    };
    let options = Options::read(arguments, &SPEC);
    let address = options.operands.iter().find(|text| text.contains("://") || text.contains("api.")).copied();
    let address = address.unwrap_or_default();
    let is_forge =
        address.contains("api.github") || address.contains("/api/v1/repos") || address.contains("/api/v4/");
    let data = options.short("dFT")
        || options.has_any(&["data", "form", "json", "data-raw", "data-binary", "upload-file", "post-data"]);
    let asked = options.values("X", "request").last().or(options.values("", "method").last()).copied();
    let method = asked.unwrap_or(if data { "POST" } else { "GET" }).to_ascii_uppercase();
    if is_forge || (address.contains(UNKNOWN) && method != "GET") {
        return request(&format!("`{program}`"), &method, address);
    }
    if options.short("K") || options.has("config") {
        return Judgement::Risky(format!("`{program}` reads its options from a file"));
    }
    Judgement::Allowed
}
