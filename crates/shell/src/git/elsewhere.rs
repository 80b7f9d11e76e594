//! Git in another repository than the project's: that is the other repository's business, as long as nothing leaves the
//! machine and nothing of the project is written.

use super::super::{
    Judgement,
    options::{Options, Spec},
    parse::UNKNOWN,
    paths::relation,
    programs::is_one_of,
    state::{Certainty, CreatedRepository, State},
    walk::Walker,
    word::Field,
};
use super::Front;

/// Commands that send commits away.
const SENDS: &str = "push send-pack http-push receive-pack svn p4 send-email imap-send";

/// Options of `init` and `clone` that do not keep them from making a repository.
const PLAIN: [&str; 14] = [
    "quiet",
    "bare",
    "initial-branch",
    "branch",
    "origin",
    "depth",
    "single-branch",
    "no-tags",
    "no-checkout",
    "verbose",
    "local",
    "no-local",
    "no-hardlinks",
    "mirror",
];

/// Options of `init` and `clone` with which a repository is made where it is said.
const MAKES: Spec =
    Spec { short: "bo", attached: "", long: &["initial-branch", "branch", "origin", "depth"] };

impl Walker<'_> {
    /// Softens a judgement of what is done in another repository.
    pub(super) fn in_other_repository(
        &self,
        judgement: Judgement,
        front: &Front<'_>,
        place: &State,
    ) -> Judgement {
        let command = front.command.unwrap_or_default();
        let stays = match command {
            "push" => !front.settings.is_empty() || !self.pushes_nearby(front.arguments, place),
            "lfs" => true,
            "config" => reaches_out(front.arguments),
            _ => is_one_of(SENDS, command) || command.starts_with("remote-"),
        };
        match judgement {
            Judgement::Denied(reason) if stays => Judgement::Denied(reason),
            Judgement::Commit | Judgement::Denied(_) => {
                Judgement::Risky("it works in another repository".to_owned())
            }
            other @ (Judgement::Allowed | Judgement::Risky(_)) => other,
        }
    }

    /// Whether a push goes from one repository that this command has made to another: what has been there before may lead
    /// to the project's remote.
    fn pushes_nearby(&self, arguments: &[Field], place: &State) -> bool {
        const SPEC: Spec =
            Spec { short: "o", attached: "", long: &["push-option", "receive-pack", "exec", "repo"] };
        let options = Options::read(arguments, &SPEC);
        let has_program = options.has_any(&["receive-pack", "exec", "repo"]);
        let remote = options.operands.first().copied().unwrap_or("origin");
        let is_here = |made: &&CreatedRepository| {
            let inside = |directory: &String| relation(directory, &made.path).within;
            !place.directories.is_empty() && place.directories.iter().all(inside)
        };
        let Some(made) = place.made.iter().find(is_here) else { return false };
        let is_named = made.remotes.iter().any(|name| name == remote);
        !has_program && !options.unknown && (is_named || is_nearby(remote, place))
    }

    /// Notes what repository a command makes, and what its remotes are.
    pub(super) fn git_makes(&mut self, front: &Front<'_>, place: &State, state: &mut State) {
        let options = Options::read(front.arguments, &MAKES);
        let plain = !options.unknown
            && options.only("qbonv", &PLAIN)
            && options.operands.iter().all(|operand| !operand.contains(UNKNOWN));
        let perhaps = self.certainty == Certainty::Perhaps;
        let operands: Vec<&str> = options.all_operands().collect();
        match (front.command.unwrap_or_default(), operands.as_slice()) {
            ("init", paths) if plain => {
                let path = paths.first().copied().unwrap_or(".");
                self.made(place.resolve(path), Vec::new(), perhaps, state);
            }
            ("clone", [source, rest @ ..]) if plain => {
                let name = source.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
                let name = name.strip_suffix(".git").unwrap_or(name);
                let path = rest.first().copied().unwrap_or(name);
                let remotes = if is_nearby(source, place) { vec!["origin".to_owned()] } else { Vec::new() };
                self.made(place.resolve(path), remotes, perhaps, state);
            }
            ("remote", ["add" | "set-url", name, address]) => {
                let is_nearby = is_nearby(address, place);
                for made in &mut state.made {
                    if place.directories.contains(&made.path) {
                        made.remotes.retain(|known| known != name);
                        made.remotes.extend(is_nearby.then(|| (*name).to_owned()));
                    }
                }
            }
            ("config", _) if leads_away(front.arguments) => state.made.clear(),
            _ => {}
        }
    }

    fn made(&self, places: Vec<String>, remotes: Vec<String>, perhaps: bool, state: &mut State) {
        // One place that is known, and not the project itself or above it.
        if let [path] = places.as_slice()
            && !path.contains([UNKNOWN, super::super::parse::GLOB])
            && !format!("{}/", self.root).starts_with(&format!("{}/", path.trim_end_matches('/')))
        {
            state.made.push(CreatedRepository { path: path.clone(), remotes, perhaps });
        }
    }
}

/// Whether an address is a path to a repository that this command has made.
fn is_nearby(address: &str, place: &State) -> bool {
    let path = address.strip_prefix("file://").unwrap_or(address);
    let is_made = |target: &String| place.made.iter().any(|made| relation(target, &made.path).within);
    path.contains('/') && !path.contains([UNKNOWN, ':']) && place.resolve(path).iter().all(is_made)
}

/// Whether a setting may send pushes elsewhere.
fn leads_away(arguments: &[Field]) -> bool {
    let leads = |text: &str| {
        let key = text.to_ascii_lowercase();
        ["url.", "remote.", "branch.", "push", "include", "http"].iter().any(|begin| key.starts_with(begin))
    };
    arguments.iter().any(|field| leads(&field.text) || field.text.contains(UNKNOWN))
}

/// Whether `git config` changes what is not the repository's own, or makes the repository's tree another.
fn reaches_out(arguments: &[Field]) -> bool {
    let spec = Spec { short: "f", attached: "", long: &["file"] };
    let options = Options::read(arguments, &spec);
    let names = |text: &str| {
        let key = text.to_ascii_lowercase();
        key.starts_with("core.worktree") || key.starts_with("include")
    };
    options.short("fe")
        || options.has_any(&["global", "system", "file", "edit"])
        || options.all_operands().any(names)
}
