use std::{fs, path::PathBuf};

use clap::CommandFactory as _;
use clap_complete::Shell as Script;

use super::Arguments as Warp;
use crate::{error::CommandError, exit::Exit, output};

/// Print shell completions, or write the man pages
///
/// For bash: `warp completions bash > ~/.local/share/bash-completion/completions/warp`
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[arg(value_enum)]
    kind: Kind,
    /// Where the man pages go
    #[arg(long, value_name = "DIR", required_if_eq("kind", "man"))]
    dir: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Bash,
    Zsh,
    Fish,
    /// One page for each command
    Man,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let script = match (arguments.kind, &arguments.dir) {
        (Kind::Bash, _) => Script::Bash,
        (Kind::Zsh, _) => Script::Zsh,
        (Kind::Fish, _) => Script::Fish,
        (Kind::Man, directory) => {
            let directory = directory.clone().unwrap_or_default();
            let written = fs::create_dir_all(&directory)
                .and_then(|()| clap_mangen::generate_to(Warp::command(), &directory));
            written.map_err(|error| {
                let what = format!("the man pages cannot be written to `{}`: {error}", directory.display());
                CommandError::new(Exit::Failed, what)
            })?;
            output::say(&format!("the man pages are in {}", directory.display()));
            return Ok(Exit::Done);
        }
    };
    let mut text = Vec::new();
    clap_complete::generate(script, &mut Warp::command(), "warp", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
