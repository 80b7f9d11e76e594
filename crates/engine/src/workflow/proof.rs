//! The proof that a workflow can be run: everything named exists, every phase can be reached, an end can be
//! reached from everywhere, no run goes on for ever, and every wait has a deadline.
//!
//! That every run ends is shown by elimination. An edge that needs a person bounds every cycle through it.
//! Of the rest, take the cycles that hang together. If a counter is raised there and reset nowhere there, its
//! budget trips in the end; an edge that raises it and lies on no cycle once the budget has tripped is taken
//! finitely often and can be left out. Repeat. What is left when nothing can be left out is a run without an
//! end. (To look at each cycle alone is not enough: of two cycles each may reset what bounds the other.)

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
};

use super::{Act, Budget, BudgetDoes, DeadlineOutcome, Measure, Phase, Row, Workflow, parse::repeated};
use crate::{EventName, PhaseName};

/// How many ways there may be from phase to phase. Each row is a way for each phase it may lead to, and each
/// outcome of a budget one more for each row it stands in the way of; beyond this the proof takes too long.
const MOST_WAYS: usize = 20_000;

/// Something that makes a workflow unfit to be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("{0}")]
    Shape(String),
    #[error("unknown phase `{target}`: {place}")]
    UnknownTarget { place: String, target: PhaseName },
    #[error("unreachable phase `{phase}`: no path from `{initial}` leads there")]
    Unreachable { initial: PhaseName, phase: PhaseName },
    #[error("dead end: {path}, and no final phase can be reached from there")]
    DeadEnd { path: Path },
    #[error("unbounded cycle: {path}, and nothing on it is counted or needs a person")]
    UnboundedCycle { path: Path },
    #[error("budgets that follow each other in a circle: {path}")]
    FollowedCycle { path: Path },
    #[error("wait without a deadline: {path}; give `{phase}` a `deadline` with `minutes` and an `outcome`")]
    NoDeadline { phase: PhaseName, path: Path },
}

/// A way through a workflow: a phase, then events and the phases they lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    pub start: PhaseName,
    pub steps: Vec<(EventName, PhaseName)>,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.start)?;
        for (event, phase) in &self.steps {
            write!(f, " --{event}--> {phase}")?;
        }
        Ok(())
    }
}

/// What was shown about a workflow.
#[derive(Clone, Debug)]
pub struct Proof {
    pub phases: usize,
    pub transitions: usize,
    /// For each counter that bounds cycles: the events that raise it.
    pub bounds: BTreeMap<String, BTreeSet<EventName>>,
    /// The events that need a person, where they bound a cycle.
    pub persons: BTreeSet<EventName>,
    pub longest_way_to_an_end: usize,
}

impl Proof {
    /// Returns the proof for a workflow that was checked.
    pub fn of(workflow: &Workflow) -> Self {
        let graph = Graph::new(workflow);
        let elimination = graph.eliminate();
        let ends = graph.distances_to_ends();
        Self {
            phases: workflow.phases.len(),
            transitions: graph.edges.iter().filter(|edge| edge.row.is_some()).count(),
            bounds: elimination.bounds,
            persons: graph.persons_on_cycles(),
            longest_way_to_an_end: ends.values().copied().max().unwrap_or(0),
        }
    }

    /// Returns what makes the workflow unfit; nothing if it can be run.
    pub(super) fn faults(workflow: &Workflow) -> Vec<Fault> {
        let mut faults = shape_faults(workflow);
        faults.extend(target_faults(workflow));
        if !faults.is_empty() {
            // Paths through phases that do not exist would only confuse.
            return faults;
        }
        let graph = Graph::new(workflow);
        if graph.edges.len() > MOST_WAYS {
            let ways = graph.edges.len();
            let text = format!(
                "there are {ways} ways from phase to phase, those of budgets included; the most is {MOST_WAYS}"
            );
            return vec![Fault::Shape(text)];
        }
        let reached = graph.paths_from_start();
        for phase in &workflow.phases {
            match reached.get(&phase.name) {
                None => faults.push(Fault::Unreachable {
                    initial: workflow.initial.clone(),
                    phase: phase.name.clone(),
                }),
                Some(path) if phase.deadline.is_none() && !workflow.ends_in(&phase.name) => {
                    faults.push(Fault::NoDeadline { phase: phase.name.clone(), path: path.clone() });
                }
                Some(_) => {}
            }
        }
        let ends = graph.distances_to_ends();
        let dead = workflow.phases.iter().filter(|phase| !ends.contains_key(&phase.name));
        faults.extend(
            dead.filter_map(|phase| reached.get(&phase.name))
                .map(|path| Fault::DeadEnd { path: path.clone() }),
        );
        // What budgets follow happens in one step, so it has to come to rest.
        let followed = graph.cyclic(&graph.followed());
        if let Some(first) = followed.first() {
            let path = graph.cycle(&graph.component(&followed, *first));
            faults.push(Fault::FollowedCycle { path });
        }
        if let Some(mut cycle) = graph.eliminate().unbounded {
            if let Some(lead) = reached.get(&cycle.start) {
                cycle.steps.splice(0..0, lead.steps.iter().cloned());
                cycle.start = lead.start.clone();
            }
            faults.push(Fault::UnboundedCycle { path: cycle });
        }
        faults
    }
}

fn shape_faults(workflow: &Workflow) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut fault = |text: String| faults.push(Fault::Shape(text));
    if workflow.phases.is_empty() {
        fault("a workflow needs at least one `[[phase]]`".to_owned());
    }
    for name in repeated(workflow.phases.iter().map(|phase| phase.name.as_str())) {
        fault(format!("phase `{name}` is there twice"));
    }
    for name in repeated(workflow.budgets.iter().map(|budget| budget.reason.as_ref())) {
        fault(format!("budget `{name}` is there twice"));
    }
    for phase in &workflow.phases {
        for event in repeated(phase.rows.iter().map(|row| row.event.as_str())) {
            fault(format!("`{event}` in `{}` is there twice", phase.name));
        }
        for row in phase.rows.iter().filter(|row| row.by_person) {
            if is_taken_unasked(workflow, &phase.name, row) {
                fault(format!(
                    "`{}` in `{}` needs a person, but a budget, a deadline, a question or an abort takes it unasked",
                    row.event, phase.name
                ));
            }
        }
        if workflow.is_final(&phase.name) && !phase.rows.is_empty() {
            fault(format!("final phase `{}` has events", phase.name));
        }
        if workflow.remembers_origin(&phase.name) && workflow.origins(&phase.name).is_empty() {
            fault(format!("`{}` returns to its origin, but nothing leads to it", phase.name));
        }
    }
    for phase in &workflow.phases {
        for budget in workflow.budgets.iter().filter(|budget| phase.is_due_by(budget)) {
            let limits = phase.deadline.as_ref().is_some_and(|deadline| deadline.minutes == budget.limit);
            let acts = budget.timeout(phase, |outcome| outcome.when.is_none()).is_some();
            if budget.measure != Measure::PhaseMinutes || !limits || !acts {
                fault(format!(
                    "the deadline of `{}` trips `{}`, which must measure `phase_minutes` with the same limit and redirect or park there",
                    phase.name, budget.reason
                ));
            }
        }
    }
    for tick in &workflow.ticks {
        for phase in &workflow.phases {
            let applies = tick.phases.is_empty() || tick.phases.contains(&phase.name);
            if applies && phase.rows.iter().any(|row| row.event == tick.event) {
                fault(format!("`{}` in `{}` is both a row and a tick", tick.event, phase.name));
            }
        }
    }
    for question in &workflow.questions {
        let (event, phase) = (&question.event, &question.phase);
        if workflow.row(phase, question.approves.as_str()).is_none() {
            fault(format!(
                "question `{event}` approves `{}`, which is no event of `{phase}`",
                question.approves
            ));
        }
        if workflow.row(phase, event.as_str()).is_some() || workflow.ticks(phase, event.as_str()).is_some() {
            fault(format!("`{event}` in `{phase}` is a question and something else too"));
        }
    }
    for approval in &workflow.approvals {
        if workflow.row(&approval.phase, approval.event.as_str()).is_none() {
            let (event, phase) = (&approval.event, &approval.phase);
            fault(format!("the question in `{phase}` approves `{event}`, which is no event there"));
        }
    }
    for budget in &workflow.budgets {
        if budget.outcomes.is_empty() {
            fault(format!("budget `{}` has no outcome", budget.reason));
        }
        for outcome in &budget.outcomes {
            let BudgetDoes::Follow(event) = &outcome.does else { continue };
            let fits =
                outcome.phase.as_ref().is_some_and(|phase| workflow.row(phase, event.as_str()).is_some());
            if !fits || outcome.event.is_some() {
                fault(format!(
                    "budget `{}` follows `{event}`, which is no event of the phase it names",
                    budget.reason
                ));
            }
        }
    }
    let named = [(&workflow.stop_event, "stop_event")];
    for (event, key) in named {
        if let Some(event) = event
            && !workflow.events().contains(&event)
        {
            fault(format!("`{key}` names `{event}`, which is no event"));
        }
    }
    faults
}

fn is_followed(workflow: &Workflow, phase: &PhaseName, row: &Row) -> bool {
    let follows = BudgetDoes::Follow(row.event.clone());
    let mut outcomes = workflow.budgets.iter().flat_map(|budget| &budget.outcomes);
    outcomes.any(|outcome| outcome.phase.as_ref() == Some(phase) && outcome.does == follows)
}

/// Tells whether a question that a setting answers takes a row.
fn is_waved_through(workflow: &Workflow, phase: &PhaseName, row: &Row) -> bool {
    let mut questions = workflow.questions.iter().filter(|question| question.unless.is_some());
    questions.any(|question| question.phase == *phase && question.approves == row.event)
}

/// Tells whether a budget, a deadline, a setting or a timeout that aborts may take a row without being asked.
fn is_taken_unasked(workflow: &Workflow, phase: &PhaseName, row: &Row) -> bool {
    let is_followed = is_followed(workflow, phase, row);
    let deadline = workflow.phase(phase).and_then(|phase| phase.deadline.as_ref());
    let is_due =
        deadline.is_some_and(|deadline| deadline.outcome == DeadlineOutcome::Event(row.event.clone()));
    let aborts = workflow.budgets.iter().any(|budget| budget.enforcement.is_some());
    let is_abort = row.aborts || workflow.stop_event.as_ref() == Some(&row.event);
    is_followed || is_due || (aborts && is_abort) || is_waved_through(workflow, phase, row)
}

fn target_faults(workflow: &Workflow) -> Vec<Fault> {
    let mut wanted: Vec<(String, &PhaseName)> = vec![("`initial`".to_owned(), &workflow.initial)];
    wanted.extend(workflow.finals.iter().map(|name| ("`final`".to_owned(), name)));
    wanted.extend(workflow.initial_when.iter().map(|(_, phase)| ("`initial_when`".to_owned(), phase)));
    for phase in &workflow.phases {
        for row in &phase.rows {
            wanted.extend(
                workflow
                    .targets(&phase.name, row)
                    .into_iter()
                    .map(|to| (format!("{} --{}--> {to}", phase.name, row.event), to)),
            );
        }
    }
    for tick in &workflow.ticks {
        wanted.extend(tick.phases.iter().map(|phase| (format!("tick `{}`", tick.event), phase)));
    }
    for question in &workflow.questions {
        wanted.push((format!("question `{}`", question.event), &question.phase));
    }
    for approval in &workflow.approvals {
        wanted.push((format!("the question about `{}`", approval.event), &approval.phase));
    }
    for budget in &workflow.budgets {
        for outcome in &budget.outcomes {
            wanted.extend(outcome.phase.iter().map(|phase| (format!("budget `{}`", budget.reason), phase)));
            if let BudgetDoes::Redirect(to) = &outcome.does {
                wanted.push((format!("budget `{}` redirects to `{to}`", budget.reason), to));
            }
        }
    }
    let unknown = wanted.into_iter().filter(|(_, target)| workflow.phase(target).is_none());
    unknown.map(|(place, target)| Fault::UnknownTarget { place, target: target.clone() }).collect()
}

struct Edge<'a> {
    from: &'a PhaseName,
    to: &'a PhaseName,
    event: EventName,
    /// None for a redirect, which is no row of the table.
    row: Option<&'a Row>,
    /// The row whose acts and counters hold on the way: of a redirect, the one that was asked for.
    asked: Option<&'a Row>,
}

impl Edge<'_> {
    fn needs_person(&self) -> bool {
        self.asked.is_some_and(|row| row.by_person)
    }

    fn raises(&self, counter: &str) -> bool {
        self.asked.is_some_and(|row| row.raises.iter().any(|raised| raised == counter))
    }

    fn resets(&self, counter: &str, workflow: &Workflow) -> bool {
        let renews = |act: &Act| matches!(act, Act::RenewBudgets | Act::RenewOrigin | Act::StartOver);
        let by_row = self.asked.is_some_and(|row| {
            row.resets.iter().any(|reset| reset == counter)
                // A row that renews names no counters of its own; one that is raised with it is not renewed.
                || (row.acts.iter().any(renews) && !self.raises(counter))
        });
        by_row || (self.from != self.to && workflow.phase_counters.iter().any(|name| name == counter))
    }
}

struct Elimination {
    bounds: BTreeMap<String, BTreeSet<EventName>>,
    unbounded: Option<Path>,
}

/// Edges by the phase that they leave.
type Ways<'a> = BTreeMap<&'a PhaseName, Vec<usize>>;

struct Graph<'a> {
    workflow: &'a Workflow,
    edges: Vec<Edge<'a>>,
}

/// Returns the ways that a budget sends a run out of `phase`: one for each row that it may replace, and one
/// if the phase's deadline trips it.
fn redirects<'a>(phase: &'a Phase, budget: &'a Budget) -> Vec<Edge<'a>> {
    let mut edges = Vec::new();
    for outcome in &budget.outcomes {
        let BudgetDoes::Redirect(to) = &outcome.does else { continue };
        if outcome.phase.as_ref().is_some_and(|wanted| *wanted != phase.name) {
            continue;
        }
        let replaced = phase
            .rows
            .iter()
            .filter(|row| !row.exempt && outcome.event.as_ref().is_none_or(|event| *event == row.event));
        let due = phase.is_due_by(budget).then_some(None);
        for asked in replaced.map(Some).chain(due) {
            let event = EventName::new(&budget.reason);
            edges.push(Edge { from: &phase.name, to, event, row: None, asked });
        }
    }
    edges
}

impl<'a> Graph<'a> {
    fn new(workflow: &'a Workflow) -> Self {
        let mut edges = Vec::new();
        for phase in &workflow.phases {
            for row in &phase.rows {
                for to in workflow.targets(&phase.name, row) {
                    let (event, row) = (row.event.clone(), Some(row));
                    edges.push(Edge { from: &phase.name, to, event, row, asked: row });
                }
            }
            for budget in &workflow.budgets {
                edges.extend(redirects(phase, budget));
            }
        }
        Self { workflow, edges }
    }

    /// Returns a shortest path from a first phase to each phase that can be reached.
    fn paths_from_start(&self) -> BTreeMap<PhaseName, Path> {
        let mut paths = BTreeMap::new();
        let mut queue = VecDeque::new();
        let firsts = [&self.workflow.initial]
            .into_iter()
            .chain(self.workflow.initial_when.iter().map(|(_, phase)| phase));
        for first in firsts {
            paths.insert(first.clone(), Path { start: first.clone(), steps: Vec::new() });
            queue.push_back(first);
        }
        while let Some(phase) = queue.pop_front() {
            for edge in self.edges.iter().filter(|edge| edge.from == phase) {
                if !paths.contains_key(edge.to) {
                    let mut path = paths[phase].clone();
                    path.steps.push((edge.event.clone(), edge.to.clone()));
                    paths.insert(edge.to.clone(), path);
                    queue.push_back(edge.to);
                }
            }
        }
        paths
    }

    /// Returns how many events each phase is away from a final phase, along rows of the table.
    fn distances_to_ends(&self) -> BTreeMap<&PhaseName, usize> {
        let mut distances: BTreeMap<&PhaseName, usize> = BTreeMap::new();
        let mut queue: VecDeque<&PhaseName> = VecDeque::new();
        for name in &self.workflow.finals {
            distances.insert(name, 0);
            queue.push_back(name);
        }
        while let Some(phase) = queue.pop_front() {
            let distance = distances[phase] + 1;
            for edge in self.edges.iter().filter(|edge| edge.to == phase && edge.row.is_some()) {
                if !distances.contains_key(edge.from) {
                    distances.insert(edge.from, distance);
                    queue.push_back(edge.from);
                }
            }
        }
        distances
    }

    fn persons_on_cycles(&self) -> BTreeSet<EventName> {
        let all: BTreeSet<usize> = (0..self.edges.len()).collect();
        let on_cycles = self.cyclic(&all);
        let persons = on_cycles.into_iter().filter(|edge| self.edges[*edge].needs_person());
        persons.filter_map(|edge| Some(self.edges[edge].row?.event.clone())).collect()
    }

    fn eliminate(&self) -> Elimination {
        let mut left: BTreeSet<usize> =
            (0..self.edges.len()).filter(|edge| !self.edges[*edge].needs_person()).collect();
        let mut bounds: BTreeMap<String, BTreeSet<EventName>> = BTreeMap::new();
        loop {
            left = self.cyclic(&left);
            let Some(first) = left.first() else { return Elimination { bounds, unbounded: None } };
            let component = self.component(&left, *first);
            let removable = self.workflow.budgets.iter().find_map(|budget| {
                let Measure::Counter(counter) = &budget.measure else { return None };
                let removable = self.removable(&component, counter);
                (!removable.is_empty()).then_some((counter, removable))
            });
            let Some((counter, removable)) = removable else {
                return Elimination { bounds, unbounded: Some(self.cycle(&component)) };
            };
            let events = removable.iter().filter_map(|edge| Some(self.edges[*edge].row?.event.clone()));
            bounds.entry(counter.to_string()).or_default().extend(events);
            left = left.difference(&removable).copied().collect();
        }
    }

    /// Returns the edges that a budget may take by itself.
    fn followed(&self) -> BTreeSet<usize> {
        let is_followed =
            |edge: &Edge<'_>| edge.row.is_some_and(|row| is_followed(self.workflow, edge.from, row));
        (0..self.edges.len()).filter(|edge| is_followed(&self.edges[*edge])).collect()
    }

    /// Returns the edges of `component` that raise `counter` and cannot be taken for ever.
    fn removable(&self, component: &BTreeSet<usize>, counter: &str) -> BTreeSet<usize> {
        let raising: BTreeSet<usize> =
            component.iter().copied().filter(|edge| self.edges[*edge].raises(counter)).collect();
        let is_reset = component.iter().any(|edge| self.edges[*edge].resets(counter, self.workflow));
        if raising.is_empty() || is_reset {
            return BTreeSet::new();
        }
        let open = component.iter().copied().filter(|edge| !self.is_shut(*edge, counter)).collect();
        let still_cyclic = self.cyclic(&open);
        raising.difference(&still_cyclic).copied().collect()
    }

    /// Tells whether an edge can no longer be taken once the budget of `counter` has tripped.
    fn is_shut(&self, edge: usize, counter: &str) -> bool {
        let edge = &self.edges[edge];
        let Some(row) = edge.row else { return false };
        // What the engine takes by itself is not asked for, so nothing stands in its way.
        let is_asked = !is_taken_unasked(self.workflow, edge.from, row);
        // Only the first budget that asks for an event is followed.
        let mut is_forestalled = false;
        for budget in &self.workflow.budgets {
            let counts = matches!(&budget.measure, Measure::Counter(name) if name == counter);
            for outcome in &budget.outcomes {
                let here = outcome.phase.as_ref().is_none_or(|phase| phase == edge.from)
                    && outcome.event.as_ref().is_none_or(|event| *event == row.event);
                let shuts = match &outcome.does {
                    BudgetDoes::Redirect(_) => !row.exempt && is_asked,
                    BudgetDoes::Follow(event) => row.event != *event && !is_forestalled,
                    BudgetDoes::Park if outcome.event.is_some() => !row.exempt && is_asked,
                    BudgetDoes::Park => !is_forestalled,
                };
                // What a setting may switch off bounds nothing.
                if here && shuts && counts && outcome.when.is_none() && budget.enforcement.is_none() {
                    return true;
                }
                is_forestalled |= here && matches!(outcome.does, BudgetDoes::Follow(_));
            }
        }
        false
    }

    /// Returns those of `edges` that lie on a cycle of `edges`.
    fn cyclic(&self, edges: &BTreeSet<usize>) -> BTreeSet<usize> {
        let ways = self.ways(edges);
        let phases = self.workflow.phases.iter().map(|phase| &phase.name);
        let reaches: BTreeMap<&PhaseName, BTreeSet<&PhaseName>> =
            phases.map(|phase| (phase, self.reach(&ways, phase))).collect();
        edges
            .iter()
            .copied()
            .filter(|edge| reaches[self.edges[*edge].to].contains(self.edges[*edge].from))
            .collect()
    }

    /// Returns the edges that hang together with `edge` in cycles; all of `edges` must lie on cycles.
    fn component(&self, edges: &BTreeSet<usize>, edge: usize) -> BTreeSet<usize> {
        let phases = self.reach(&self.ways(edges), self.edges[edge].from);
        edges.iter().copied().filter(|other| phases.contains(self.edges[*other].from)).collect()
    }

    /// Returns the first of `edges` between each two phases, by the phase that it leaves.
    fn ways(&self, edges: &BTreeSet<usize>) -> Ways<'a> {
        let mut seen = BTreeSet::new();
        let mut ways = Ways::new();
        for edge in edges {
            let (from, to) = (self.edges[*edge].from, self.edges[*edge].to);
            if seen.insert((from, to)) {
                ways.entry(from).or_default().push(*edge);
            }
        }
        ways
    }

    /// Returns the phases that can be reached over `ways`, the start included.
    fn reach(&self, ways: &Ways<'a>, start: &'a PhaseName) -> BTreeSet<&'a PhaseName> {
        let mut reached = BTreeSet::from([start]);
        let mut queue = vec![start];
        while let Some(phase) = queue.pop() {
            for edge in ways.get(phase).into_iter().flatten() {
                let to = self.edges[*edge].to;
                if reached.insert(to) {
                    queue.push(to);
                }
            }
        }
        reached
    }

    /// Returns a shortest cycle of a component.
    fn cycle(&self, component: &BTreeSet<usize>) -> Path {
        let ways = self.ways(component);
        let mut firsts: Vec<usize> = ways.values().flatten().copied().collect();
        firsts.sort_unstable();
        let mut shortest: Option<Path> = None;
        for edge in firsts.into_iter().map(|edge| &self.edges[edge]) {
            // Only what is shorter counts, so no more than that is looked for.
            let most = shortest.as_ref().map_or(usize::MAX, |path| path.steps.len() - 1);
            let Some(back) = self.way(&ways, edge.to, edge.from, most) else { continue };
            let mut steps = vec![(edge.event.clone(), edge.to.clone())];
            steps.extend(back);
            if shortest.as_ref().is_none_or(|path| steps.len() < path.steps.len()) {
                shortest = Some(Path { start: edge.from.clone(), steps });
            }
        }
        shortest.expect("a component has at least one edge")
    }

    /// Returns a shortest way over `ways` that has fewer than `most` steps.
    fn way(
        &self,
        ways: &Ways<'a>,
        from: &'a PhaseName,
        to: &PhaseName,
        most: usize,
    ) -> Option<Vec<(EventName, PhaseName)>> {
        let mut found: BTreeMap<&PhaseName, Vec<(EventName, PhaseName)>> =
            BTreeMap::from([(from, Vec::new())]);
        let mut queue = VecDeque::from([from]);
        while let Some(phase) = queue.pop_front() {
            if phase == to {
                break;
            }
            for edge in ways.get(phase).into_iter().flatten().map(|edge| &self.edges[*edge]) {
                if !found.contains_key(edge.to) && found[phase].len() + 1 < most {
                    let mut way = found[phase].clone();
                    way.push((edge.event.clone(), edge.to.clone()));
                    found.insert(edge.to, way);
                    queue.push_back(edge.to);
                }
            }
        }
        found.remove(to)
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} phases, {} transitions; every target exists", self.phases, self.transitions)?;
        writeln!(f, "every phase can be reached, and every wait has a deadline with a named outcome")?;
        writeln!(f, "a final phase is at most {} events away from everywhere", self.longest_way_to_an_end)?;
        for (counter, events) in &self.bounds {
            let events: Vec<&str> = events.iter().map(EventName::as_str).collect();
            writeln!(f, "cycles through {} are bounded by `{counter}`", events.join(", "))?;
        }
        if !self.persons.is_empty() {
            let events: Vec<&str> = self.persons.iter().map(EventName::as_str).collect();
            writeln!(f, "cycles through {} need a person", events.join(", "))?;
        }
        write!(f, "so every run ends")
    }
}

/// Says what happens when the deadline of a phase is missed.
impl fmt::Display for DeadlineOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeadlineOutcome::Event(event) => write!(f, "{event}"),
            DeadlineOutcome::Budget(reason) => write!(f, "{reason}"),
            DeadlineOutcome::Park => write!(f, "a decision"),
        }
    }
}
