use std::{path::PathBuf, sync::Arc};

use adapters::machine;
use engine::{
    Run, Time,
    ledger::{Books, By, Line, Report, Unit},
    view::{CapUse, Cost, render_cost},
};
use forge::ItemId;
use project::{
    Workspace, config,
    spend::{self, Caps, Ledger, Scope, Tags},
};

use super::open;
use crate::{error::CommandError, exit::Exit, local_time, output};

/// The version of the JSON that is printed.
const VERSION: u32 = 1;
/// How many days are looked at where no run or issue is named.
const DAYS: u32 = 30;

/// Show what was spent, in tokens and dollars, and how much of each cap is used
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A run id or an issue; without it, all of this project
    #[arg(value_name = "RUN|ISSUE")]
    selector: Option<String>,
    /// What to add up by [default: phase for a run or issue, else issue]
    #[arg(long, value_name = "WHAT")]
    by: Option<What>,
    /// Look at this many days, today included [default: 30, or all for a run or issue]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: Option<u32>,
    /// Look at all projects
    #[arg(long, conflicts_with = "selector")]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum What {
    Phase,
    Chunk,
    Role,
    Model,
    Agent,
    Issue,
    Run,
    Day,
    Project,
}

/// Whose spending is asked for.
enum Whose {
    All,
    /// The project's id.
    Project(String),
    /// The project's id, the issue, and its newest run.
    Issue(String, String, Option<Arc<Run>>),
    Run(Arc<Run>),
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let name = workspace.place.name();
    let now = machine::now();
    let mut ledger = Ledger::open_existing(&workspace.dirs)?;
    let since = since(arguments, now);
    if let Some(ledger) = &mut ledger {
        ledger.follow(since.unwrap_or(Time::from_millis(0)))?;
    }
    let Some(whose) = whose(arguments, &mut workspace, ledger.as_ref())? else {
        let selector = arguments.selector.as_deref().unwrap_or_default();
        return Err(CommandError::unknown(selector, &name));
    };
    let by = arguments.by.map_or_else(|| whose.usual(), What::by);
    let of = whose.words(&name);
    let books = ledger.as_ref().map(Ledger::books);
    let report =
        Report::of(books.into_iter().flat_map(|books| books.lines().filter(|line| whose.has(line))), by);
    let caps = caps(&workspace, &whose, ledger.as_mut(), now)?;
    let pauses = ledger.as_mut().map(|ledger| ledger.pauses(now)).transpose()?.unwrap_or_default();
    let prices =
        ledger.as_ref().map_or_else(|| spend::Prices::built_in().date, |it| it.prices().date.clone());
    let since = since.map(Time::day);
    let cost = Cost { version: VERSION, of, since, by, report, caps, pauses, prices };
    if arguments.json {
        output::print_json(&cost)?;
    } else {
        output::print(&render_cost(&cost, local_time::minute))?;
    }
    Ok(Exit::Done)
}

/// Returns from when on days are looked at; none if all are.
fn since(arguments: &Arguments, now: Time) -> Option<Time> {
    let days = match (arguments.days, &arguments.selector) {
        (Some(days), _) => days,
        (None, None) => DAYS,
        (None, Some(_)) => return None,
    };
    Some(Time::from_millis(now.millis() - i64::from(days - 1) * 24 * 60 * 60 * 1000))
}

/// Returns what is meant; nothing if no run or issue has that name.
fn whose(
    arguments: &Arguments,
    workspace: &mut Workspace,
    ledger: Option<&Ledger>,
) -> Result<Option<Whose>, CommandError> {
    let is_everything = arguments.all || arguments.by == Some(What::Project) && arguments.selector.is_none();
    let project = match workspace.place.project_id()? {
        Some(id) if !is_everything => id,
        // A project that never had a run has spent nothing.
        None if !is_everything => String::new(),
        Some(_) | None => return Ok(Some(Whose::All)),
    };
    let Some(selector) = arguments.selector.as_deref() else { return Ok(Some(Whose::Project(project))) };
    let found = workspace.select(Some(selector))?;
    if let Some(current) = found.filter(|current| current.run.id == *selector) {
        return Ok(Some(Whose::Run(current.run)));
    }
    let issue = selector.trim_start_matches('#').to_owned();
    let of_issue =
        |line: &Line<'_>| line.tags.project == project && line.tags.issue.as_deref() == Some(issue.as_str());
    let run = workspace.select(Some(&issue))?.map(|current| current.run);
    let has_line = ledger.is_some_and(|ledger| ledger.books().lines().any(|line| of_issue(&line)));
    let is_known = run.is_some() || has_line || is_filed(workspace, &issue)?;
    Ok(is_known.then_some(Whose::Issue(project, issue, run)))
}

/// Tells whether there is such an issue, worked on or not.
fn is_filed(workspace: &mut Workspace, issue: &str) -> Result<bool, CommandError> {
    let Some(number) = ItemId::typed(issue) else { return Ok(false) };
    Ok(workspace.tracker().item(number)?.is_some_and(|item| item.pull.is_none()))
}

impl Whose {
    fn has(&self, line: &Line<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Project(project) => line.tags.project == *project,
            Self::Issue(project, issue, _) => {
                line.tags.project == *project && line.tags.issue.as_ref() == Some(issue)
            }
            Self::Run(run) => line.tags.run == run.id.as_str(),
        }
    }

    /// What is added up by, where nobody says.
    fn usual(&self) -> By {
        match self {
            Self::All => By::Project,
            Self::Project(_) => By::Issue,
            Self::Issue(..) | Self::Run(_) => By::Phase,
        }
    }

    fn words(&self, name: &str) -> String {
        match self {
            Self::All => "all projects".to_owned(),
            Self::Project(_) => name.to_owned(),
            Self::Issue(_, issue, _) => format!("issue #{issue} of {name}"),
            Self::Run(run) => format!("run {} of {name}", run.id),
        }
    }
}

impl What {
    fn by(self) -> By {
        match self {
            Self::Phase => By::Phase,
            Self::Chunk => By::Chunk,
            Self::Role => By::Role,
            Self::Model => By::Model,
            Self::Agent => By::Agent,
            Self::Issue => By::Issue,
            Self::Run => By::Run,
            Self::Day => By::Day,
            Self::Project => By::Project,
        }
    }
}

/// Returns how much of each cap is used: of the run that is asked for or the issue's newest, and of this day.
fn caps(
    workspace: &Workspace,
    whose: &Whose,
    ledger: Option<&mut Ledger>,
    now: Time,
) -> Result<Vec<CapUse>, CommandError> {
    let settings = config::load(&workspace.place, &workspace.dirs, None, &[])?.settings;
    let mut caps = spend::caps(&settings);
    // A run keeps the settings that it began with.
    let run = match whose {
        Whose::Run(run) | Whose::Issue(_, _, Some(run)) => Some(run),
        Whose::All | Whose::Project(_) | Whose::Issue(_, _, None) => None,
    };
    caps.run = run.map(|run| spend::caps(&run.settings).run).unwrap_or_default();
    let mut tags = Tags {
        project: workspace.place.project_id()?.unwrap_or_default(),
        run: run.map(|run| run.id.to_string()).unwrap_or_default(),
        ..Tags::default()
    };
    // Without a ledger nothing was spent yet.
    let empty = Books::default();
    let books = match ledger {
        Some(ledger) => {
            // A cap looks at all of its days, whichever were asked for.
            ledger.follow(run.map_or(now, |run| run.started_at))?;
            ledger.books()
        }
        None => &empty,
    };
    let mut used = Vec::new();
    let project = workspace.place.name();
    let names = [(Scope::Run, tags.run.clone()), (Scope::Project, project), (Scope::Day, String::new())];
    for (scope, name) in names {
        push_cap(&mut used, books, &caps, scope, &name, &tags, now);
    }
    let today = now.day();
    let pools: std::collections::BTreeSet<String> =
        books.lines().filter(|line| line.day == today).map(|line| line.tags.pool.clone()).collect();
    for pool in pools {
        tags.pool.clone_from(&pool);
        push_cap(&mut used, books, &caps, Scope::Pool, &pool, &tags, now);
    }
    Ok(used)
}

fn push_cap(
    used: &mut Vec<CapUse>,
    books: &Books,
    caps: &Caps,
    scope: Scope,
    name: &str,
    tags: &Tags,
    now: Time,
) {
    let today = now.day();
    let (micro_usd, tokens) = books.raised(scope, &today, tags);
    let cap = caps.of(scope).raised(micro_usd, tokens);
    let spent = books.spent(scope, &today, tags);
    for (unit, limit, spent) in
        [(Unit::Usd, cap.micro_usd, spent.micro_usd), (Unit::Tokens, cap.tokens, spent.tokens())]
    {
        if let Some(limit) = limit {
            used.push(CapUse { cap: scope, name: name.to_owned(), unit, limit, spent });
        }
    }
}
