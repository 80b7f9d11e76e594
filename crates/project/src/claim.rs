//! Claims: who works on an issue or a feature. Two processes never do at once.
//!
//! A claim is a lease of the journal, with the process that holds it written into it. One whose holder is gone is taken
//! over at once; one whose holder cannot be told about (another machine) runs out by itself.

use std::time::Duration;

use adapters::{boundary, machine, secrets::redacted};
use engine::{Owner, digest};
use journal::LeaseError;

use crate::{Error, Workspace};

/// How long a claim holds unless it is kept up.
const HOLDS: Duration = Duration::from_secs(120);
/// How often a claim is tried because others are faster.
const TRIES: usize = 20;

/// The right to work on an issue or a feature.
#[derive(Debug, PartialEq, Eq)]
pub struct Claim {
    /// The lease's name.
    name: String,
    /// What is claimed, in words.
    about: String,
    generation: u64,
}

impl Claim {
    /// Returns what is claimed, in words.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Tells whether it is this issue that is claimed.
    pub fn is_of(&self, issue: &str) -> bool {
        self.name == lease(issue)
    }
}

/// Why something cannot be claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    #[error("{about} is being worked on by process {pid}")]
    Held { about: String, pid: u32 },
    #[error(transparent)]
    Failed(#[from] Error),
}

impl Workspace {
    /// Claims an issue for this process, if no other live process has it.
    pub fn claim(&mut self, issue: &str) -> Result<Claim, ClaimError> {
        self.claim_lease(lease(issue), format!("issue {issue}"))
    }

    /// Claims a feature for this process, if no other live process has it. It is known by its words, without secrets.
    pub fn claim_feature(&mut self, feature: &str) -> Result<Claim, ClaimError> {
        let feature = redacted(feature.trim().to_owned());
        self.claim_lease(format!("feature:{}", digest(&feature)), format!("`{feature}`"))
    }

    fn claim_lease(&mut self, name: String, about: String) -> Result<Claim, ClaimError> {
        let owner = machine::owner(std::process::id());
        let text = serde_json::to_string(&owner).expect("an owner can be written as JSON");
        for _ in 0..TRIES {
            let now = machine::now().millis();
            let store = self.store()?;
            match boundary::around("claim", || store.acquire(&name, &text, now, until(now))) {
                Ok(lease) => return Ok(Claim { name, about, generation: lease.generation }),
                Err(LeaseError::Held { owner, .. }) => {
                    let owner: Option<Owner> = serde_json::from_str(&owner).ok();
                    if owner.as_ref().is_none_or(machine::is_live) {
                        let pid = owner.map_or(0, |owner| owner.pid);
                        return Err(ClaimError::Held { about, pid });
                    }
                    self.take_from_the_dead(&name)?;
                }
                // Only a store that fails says anything else here.
                Err(LeaseError::Stale { .. }) => {}
                Err(LeaseError::Store(error)) => return Err(Error::Store(error).into()),
            }
        }
        Err(Error::Contended.into())
    }

    /// Returns the other process that has claimed an issue, if it is still there.
    pub(crate) fn claimant(&mut self, issue: &str) -> Result<Option<Owner>, Error> {
        let Some(store) = self.store.get() else { return Ok(None) };
        let now = machine::now().millis();
        let lease = store.lease(&lease(issue))?.filter(|lease| now < lease.expires_at);
        let owner: Option<Owner> = lease.and_then(|lease| serde_json::from_str(&lease.owner).ok());
        Ok(owner.filter(|owner| owner.pid != std::process::id() && machine::is_live(owner)))
    }

    /// Frees a claim whose holder is gone. Somebody else may be faster; then the next try says so.
    fn take_from_the_dead(&mut self, name: &str) -> Result<(), Error> {
        let store = self.store()?;
        let Some(lease) = store.lease(name)? else { return Ok(()) };
        let owner: Option<Owner> = serde_json::from_str(&lease.owner).ok();
        if owner.as_ref().is_none_or(machine::is_live) {
            return Ok(());
        }
        match boundary::around("take_claim", || store.release(name, lease.generation)) {
            Err(LeaseError::Store(error)) => Err(error.into()),
            Ok(()) | Err(LeaseError::Stale { .. } | LeaseError::Held { .. }) => Ok(()),
        }
    }

    /// Keeps a claim up; tells whether it is still this process's.
    pub fn keep(&mut self, claim: &Claim) -> Result<bool, Error> {
        let now = machine::now().millis();
        match self.store()?.renew(&claim.name, claim.generation, until(now)) {
            Ok(_) => Ok(true),
            Err(LeaseError::Store(error)) => Err(error.into()),
            Err(LeaseError::Stale { .. } | LeaseError::Held { .. }) => Ok(false),
        }
    }

    /// Gives a claim back.
    pub fn release(&mut self, claim: &Claim) -> Result<(), Error> {
        let store = self.store()?;
        match boundary::around("release", || store.release(&claim.name, claim.generation)) {
            Err(LeaseError::Store(error)) => Err(error.into()),
            // Lost to somebody else, it is not ours to give back.
            Ok(()) | Err(LeaseError::Stale { .. } | LeaseError::Held { .. }) => Ok(()),
        }
    }
}

fn lease(issue: &str) -> String {
    format!("issue:{issue}")
}

fn until(now: i64) -> i64 {
    now.saturating_add(i64::try_from(HOLDS.as_millis()).unwrap_or(i64::MAX))
}
