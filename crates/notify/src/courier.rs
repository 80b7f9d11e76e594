//! Sending: what a run's journal says is posted, in order, to every place, and written down as it goes.

use std::{collections::VecDeque, path::Path, time::Duration};

use adapters::boundary;
use engine::{Fold, view};
use project::{Current, Dirs, Place, Workspace, spelled};

use crate::{
    RunRef,
    memory::{AwayError, ChannelLease, Memory, TrackedRun, send},
    port::{Channel, Post, PostContent, Trouble},
    post::{self, PreviousState},
};

/// Posts the notices and questions of one run.
pub struct RunSender {
    of: RunRef,
    workspace: Workspace,
    fold: Fold,
    folded: u64,
    before: PreviousState,
    /// What is to be posted, by the event that it comes from.
    pending: VecDeque<(u64, Vec<Post>)>,
    hold: Option<ChannelLease>,
}

/// Result of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryResult {
    /// All of it was sent.
    All,
    /// Another process sends for this run.
    Elsewhere,
    /// The rest has to wait; so long, if the other side has said so.
    Later { wait: Option<Duration>, why: String },
    /// Nothing will be taken.
    Never(String),
}

impl RunSender {
    /// Prepares to send for a run.
    pub fn new(dirs: &Dirs, of: RunRef) -> Result<Self, AwayError> {
        let place = Place::at(Path::new(&of.project)).map_err(project::Error::from)?;
        let workspace = Workspace::open(place, dirs.clone())?;
        Ok(Self {
            of,
            workspace,
            fold: Fold::default(),
            folded: 0,
            before: PreviousState::default(),
            pending: VecDeque::new(),
            hold: None,
        })
    }

    /// Notes from where on the run is told about, unless that is known.
    pub fn follow(&mut self, memory: &mut Memory) -> Result<(), AwayError> {
        let Some(current) = self.workspace.select(Some(&self.of.run))? else { return Ok(()) };
        // Whoever else sends for the run has noted it.
        if memory.followed(&self.of.run)?.is_none() && self.holds(memory)? {
            self.begin(memory, &current)?;
        }
        Ok(())
    }

    /// Sends what was not sent yet. What a place will never take is left out, and said in `notes`.
    pub fn deliver(
        &mut self,
        memory: &mut Memory,
        channel: &mut dyn Channel,
        notes: &mut Vec<String>,
    ) -> Result<DeliveryResult, AwayError> {
        let Some(current) = self.workspace.select(Some(&self.of.run))? else {
            return Ok(DeliveryResult::All);
        };
        if !self.holds(memory)? {
            return Ok(DeliveryResult::Elsewhere);
        }
        let known = memory.followed(&self.of.run)?;
        if known.as_ref().is_some_and(|known| known.is_over || known.next >= current.events()) {
            return Ok(DeliveryResult::All);
        }
        let mut followed = match known {
            Some(known) => known,
            None => self.begin(memory, &current)?,
        };
        self.catch_up(&current, &followed)?;
        let open = view::asked(&current.workflow, &current.run).map(|asked| asked.id);
        while let Some((seq, posts)) = self.pending.front().cloned() {
            for (index, post) in posts.iter().enumerate() {
                // A question that was answered before it could be asked is not asked any more.
                if matches!(post, Post::Question(question) if open.as_ref() != Some(&question.id)) {
                    continue;
                }
                let told = tell(memory, channel, &mut followed, index, post, notes)?;
                if told != DeliveryResult::All {
                    return Ok(told);
                }
            }
            self.pending.pop_front();
            followed.next = seq + 1;
            followed.done.clear();
            followed.is_over = !current.run.is_open() && followed.next >= current.events();
            if !posts.is_empty() || self.pending.is_empty() {
                memory.keep("away_told", &followed)?;
            }
        }
        Ok(DeliveryResult::All)
    }

    /// Leaves out what was not told yet, for a person who does not want to be told: whatever comes next begins with where
    /// the run is.
    pub fn pass_over(&mut self, memory: &mut Memory) -> Result<(), AwayError> {
        let Some(current) = self.workspace.select(Some(&self.of.run))? else { return Ok(()) };
        let Some(known) = memory.followed(&self.of.run)?.filter(|known| !known.is_over) else {
            return Ok(());
        };
        let mut passed = known.clone();
        let untold = usize::try_from(current.events().saturating_sub(known.next)).unwrap_or(usize::MAX);
        let records = self.workspace.newest_records(&current, untold)?;
        if let Some(index) = records.iter().rposition(|record| record.moves()).filter(|index| *index > 0) {
            passed.next += index as u64;
            passed.done.clear();
        }
        if untold > 0 {
            passed.since = current.events();
        }
        let open = view::asked(&current.workflow, &current.run).map(|asked| asked.id);
        passed.close_all_but(open.as_deref());
        if !current.run.is_open() {
            (passed.next, passed.is_over) = (current.events(), true);
        }
        // Whoever else sends for the run sees by itself that nobody wants to be told.
        if passed != known && self.holds(memory)? {
            memory.keep("away_passed_over", &passed)?;
        }
        Ok(())
    }

    /// Tells whether a question was posted that is still open.
    pub fn has_open_question(&mut self, memory: &mut Memory) -> Result<bool, AwayError> {
        Ok(memory.followed(&self.of.run)?.is_some_and(|followed| followed.has_open_question()))
    }

    /// Tells how many events are not told yet.
    pub fn left(&mut self, memory: &mut Memory) -> Result<u64, AwayError> {
        let Some(current) = self.workspace.select(Some(&self.of.run))? else { return Ok(0) };
        let next = memory.followed(&self.of.run)?.map_or(0, |followed| followed.next);
        Ok(current.events().saturating_sub(next))
    }

    /// Lets another process send for the run.
    pub fn end(&mut self, memory: &mut Memory) -> Result<(), AwayError> {
        match self.hold.take() {
            Some(hold) => memory.release(&hold),
            None => Ok(()),
        }
    }

    fn holds(&mut self, memory: &mut Memory) -> Result<bool, AwayError> {
        if let Some(hold) = &self.hold
            && memory.renew(hold)?
        {
            return Ok(true);
        }
        self.hold = memory.hold(&send(&self.of.run))?;
        if self.hold.is_some() {
            // Another may have sent meanwhile.
            (self.fold, self.folded, self.before) = (Fold::default(), 0, PreviousState::default());
            self.pending.clear();
        }
        Ok(self.hold.is_some())
    }

    /// Begins with the event that brought the run to where it is, so that the first notice says where that is.
    fn begin(&mut self, memory: &mut Memory, current: &Current) -> Result<TrackedRun, AwayError> {
        let records = self.workspace.records(current)?;
        let from = records.iter().rposition(engine::Record::moves).unwrap_or(0);
        let followed = TrackedRun::new(&self.of, from as u64, current.events());
        memory.keep("away_begun", &followed)?;
        Ok(followed)
    }

    /// Reads the records that are new, and puts down what is to be posted about them.
    fn catch_up(&mut self, current: &Current, followed: &TrackedRun) -> Result<(), AwayError> {
        let missing = usize::try_from(current.events().saturating_sub(self.folded)).unwrap_or(usize::MAX);
        let name = self.workspace.place.name();
        for record in self.workspace.newest_records(current, missing)? {
            let seq = self.folded;
            self.fold
                .add(&record)
                .map_err(|source| runs::Error::Fold { run: self.of.run.clone(), source })
                .map_err(project::Error::from)?;
            self.folded += 1;
            let Some(run) = self.fold.run() else { continue };
            if seq >= followed.next {
                let is_past = seq < followed.since;
                let now = is_past.then_some(&current.run.standing);
                let posts = post::posts(&self.before, &current.workflow, run, &record, &name, now);
                self.pending.push_back((seq, posts));
            }
            self.before = PreviousState::of(&current.workflow, run);
        }
        Ok(())
    }
}

/// Posts to every place that has it not yet.
fn tell(
    memory: &mut Memory,
    channel: &mut dyn Channel,
    followed: &mut TrackedRun,
    index: usize,
    post: &Post,
    notes: &mut Vec<String>,
) -> Result<DeliveryResult, AwayError> {
    let closed = match post {
        Post::Closing(closing) => match followed.asked(&closing.id).cloned() {
            Some(asked) => Some(asked),
            None => return Ok(DeliveryResult::All),
        },
        Post::Notice { .. } | Post::Question(_) => None,
    };
    for place in channel.places() {
        let unit = format!("{index}:{place}");
        if followed.done.contains(&unit) {
            continue;
        }
        let said = match (post, &closed) {
            (Post::Notice { text, is_quiet }, _) => Some(PostContent::Notice { text, is_quiet: *is_quiet }),
            (Post::Question(question), _) => Some(PostContent::Question(question)),
            (Post::Closing(closing), Some(asked)) => {
                let message = asked.messages.iter().find(|(at, _)| *at == place).map(|(_, message)| message);
                let question = asked.question.as_ref();
                let parts = message.zip(question);
                parts.map(|(message, question)| PostContent::Closing {
                    message,
                    question,
                    words: &closing.words,
                })
            }
            (Post::Closing(_), None) => None,
        };
        if let Some(said) = said {
            match boundary::around("away-post", || channel.post(&place, &said)) {
                Ok(message) => {
                    if let (Post::Question(question), Some(message)) = (post, message) {
                        followed.ask(question, &place, message);
                    }
                }
                Err(Trouble::Never(why)) => notes.push(format!("{place} was not told: {why}")),
                Err(Trouble::Later { wait, why }) => return Ok(DeliveryResult::Later { wait, why }),
                Err(error @ (Trouble::Rival(_) | Trouble::Woken)) => {
                    return Ok(DeliveryResult::Later { wait: None, why: spelled(&error) });
                }
                Err(Trouble::NoEntry(why)) => return Ok(DeliveryResult::Never(why)),
            }
        }
        followed.done.push(unit);
        memory.keep("away_posted", followed)?;
        memory.reached()?;
    }
    if let Post::Closing(closing) = post {
        followed.close(&closing.id);
    }
    Ok(DeliveryResult::All)
}
