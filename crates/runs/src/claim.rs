//! Claims: who works on an issue or a feature. Two runs never do at once, in whatever processes.
//!
//! A claim is a lease of the journal with the process that holds it written into it, and it is renewed for as long as the
//! claim lives. One whose holder is gone is taken over at once; one that another machine holds, only once it has run out.
//! Whoever has lost a claim records nothing more and acts on nothing outside: the store asks for its generation.
//!
//! A run without a workspace is claimed itself, as what it is about is claimed by its children.

use adapters::{boundary, clock::after, machine, secrets::redacted};
use engine::{Owner, Run, digest};
use journal::LeaseError;
use serde::{Deserialize, Serialize};

use crate::{Error, HOLDS, RenewedLease, Runs};

/// How often a claim is tried because others are faster.
const TRIES: usize = 20;

/// The right to work on an issue, on a feature or on a run, until it is given back or dropped.
#[derive(Debug)]
pub struct Claim {
    /// What is claimed, in words.
    about: String,
    renewed: RenewedLease,
}

/// What is written into a claim's lease.
#[derive(Serialize, Deserialize)]
struct Holder {
    #[serde(flatten)]
    owner: Owner,
    /// Tells claims of one process apart.
    claim: String,
}

/// Why something could not be claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    #[error("{about} is being worked on by {by}")]
    Held { about: String, by: String },
    #[error(transparent)]
    Failed(#[from] Error),
}

impl Claim {
    /// Tells whether this is the claim of an issue, and nobody is known to have taken it.
    pub fn has_issue(&self, issue: &str) -> bool {
        self.has(&of_issue(issue))
    }

    /// Tells whether this is the claim of a feature, and nobody is known to have taken it.
    pub fn has_feature(&self, feature: &str) -> bool {
        self.has(&of_feature(feature))
    }

    fn has(&self, name: &str) -> bool {
        !self.renewed.is_lost() && self.renewed.fence().name == name
    }
}

impl Runs {
    /// Claims an issue, if no live run has it.
    pub fn claim_issue(&self, issue: &str) -> Result<Claim, ClaimError> {
        self.claim(of_issue(issue), format!("issue {issue}"))
    }

    /// Claims a feature, if no live run has it. It is known by its words, without secrets.
    pub fn claim_feature(&self, feature: &str) -> Result<Claim, ClaimError> {
        self.claim(of_feature(feature), format!("`{}`", redacted(feature.trim().to_owned())))
    }

    /// Claims a run that has no workspace, if nobody carries it on.
    pub fn claim_run(&self, run: &Run) -> Result<Claim, ClaimError> {
        self.claim(of_run(run), format!("run {}", run.id))
    }

    /// Presents a claim with everything that is recorded and flushed from now on, or none.
    pub fn act_under(&self, claim: Option<&Claim>) {
        self.set_fence(claim.map(|claim| claim.renewed.fence().clone()));
    }

    /// Returns what was claimed, in words, if somebody else has taken it meanwhile.
    pub fn lost<'a>(&self, claim: &'a Claim) -> Result<Option<&'a str>, Error> {
        let fence = claim.renewed.fence();
        let lease = self.stored()?.lease(&fence.name)?;
        let is_ours = lease.is_some_and(|lease| lease.generation == fence.generation);
        Ok((!is_ours).then_some(&claim.about))
    }

    /// Gives back what is claimed.
    pub fn release(&self, claim: Claim) -> Result<(), Error> {
        Ok(boundary::around("release", || claim.renewed.release())?)
    }

    fn claim(&self, name: String, about: String) -> Result<Claim, ClaimError> {
        let store = self.stored()?;
        let claim = machine::random_text(8).map_err(Error::Random)?;
        let holder = Holder { owner: machine::owner(std::process::id()), claim };
        let text = serde_json::to_string(&holder).expect("a holder can be written as JSON");
        for _ in 0..TRIES {
            let now = self.0.clock.now();
            let until = after(now, HOLDS).millis();
            match boundary::around("claim", || store.acquire(&name, &text, now.millis(), until)) {
                Ok(lease) => return Ok(Claim { about, renewed: self.0.leases.renew(store, &lease) }),
                Err(LeaseError::Held { owner, .. }) => {
                    let holder: Option<Holder> = serde_json::from_str(&owner).ok();
                    if !holder.as_ref().is_some_and(|holder| is_gone(&holder.owner)) {
                        let by = holder
                            .map_or_else(|| "somebody".to_owned(), |holder| owner_in_words(&holder.owner));
                        return Err(ClaimError::Held { about, by });
                    }
                    self.take_from_the_dead(&name, &owner)?;
                }
                // Only a store that fails says anything else here.
                Err(LeaseError::Stale { .. }) => {}
                Err(LeaseError::Store(error)) => return Err(Error::Store(error).into()),
            }
        }
        Err(Error::Contended.into())
    }

    /// Returns the other process that has claimed an issue, if it is still there.
    pub fn claimant(&self, issue: &str) -> Result<Option<Owner>, Error> {
        let name = of_issue(issue);
        let holder = self.holder(&name)?.map(|holder| holder.owner);
        Ok(holder.filter(|owner| !is_gone(owner) && !self.0.leases.holds(&name)))
    }

    /// Tells whether nobody carries an open run on.
    pub fn is_left(&self, run: &Run) -> Result<bool, Error> {
        if run.workspace().is_none() {
            let holder = self.holder(&of_run(run))?;
            return Ok(holder.is_none_or(|holder| is_gone(&holder.owner)));
        }
        let name = run.issue.as_deref().map(of_issue).or_else(|| run.feature.as_deref().map(of_feature));
        let owner = &run.owner;
        if owner.pid == std::process::id() && machine::is_live(owner) {
            return Ok(!name.is_some_and(|name| self.0.leases.holds(&name)));
        }
        if machine::is_here(owner) {
            return Ok(!machine::is_live(owner));
        }
        // Whether a process of another machine lives, its claim tells.
        let holder = name.map(|name| self.holder(&name)).transpose()?;
        Ok(holder.is_some_and(|holder| holder.is_none()))
    }

    /// Returns who holds a lease that has not run out.
    fn holder(&self, name: &str) -> Result<Option<Holder>, Error> {
        let Some(store) = self.store() else { return Ok(None) };
        let now = self.0.clock.now().millis();
        let lease = store.lease(name)?.filter(|lease| now < lease.expires_at);
        Ok(lease.and_then(|lease| serde_json::from_str(&lease.owner).ok()))
    }

    /// Frees a claim whose holder is gone. Somebody else may be faster; then the next try says so.
    fn take_from_the_dead(&self, name: &str, owner: &str) -> Result<(), Error> {
        let store = self.stored()?;
        let Some(lease) = store.lease(name)?.filter(|lease| lease.owner == owner) else { return Ok(()) };
        match boundary::around("take_claim", || store.release(name, lease.generation)) {
            Err(LeaseError::Store(error)) => Err(error.into()),
            Ok(()) | Err(LeaseError::Stale { .. } | LeaseError::Held { .. }) => Ok(()),
        }
    }
}

/// Tells whether a process is known to be gone.
fn is_gone(owner: &Owner) -> bool {
    machine::is_here(owner) && !machine::is_live(owner)
}

fn owner_in_words(owner: &Owner) -> String {
    match &owner.host {
        Some(host) if !machine::is_here(owner) => format!("process {} on {host}", owner.pid),
        Some(_) | None => format!("process {}", owner.pid),
    }
}

fn of_issue(issue: &str) -> String {
    format!("issue:{issue}")
}

fn of_feature(feature: &str) -> String {
    format!("feature:{}", digest(redacted(feature.trim().to_owned())))
}

fn of_run(run: &Run) -> String {
    format!("run:{}", run.id)
}
