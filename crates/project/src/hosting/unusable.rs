//! A forge that cannot be used: every call says why.

use std::sync::Arc;

use engine::Time;
use forge::{
    Author, Capabilities, ChangedFile, Edit, FiledItem, Forge, ForgeError, Hosting, Item, ItemId, Merge,
    NewItem, NewPull, OwnVerdict, Query, Refusal, Requirements, Review, Tracker,
};

use super::HostingError;

/// What stands in the place of a server that is configured and not usable. It is not the journal, so that nothing is
/// looked for or filed in the wrong place.
#[derive(Clone, Debug)]
pub(super) struct Unusable(Refusal);

impl Unusable {
    pub(super) fn new(why: &HostingError) -> Self {
        Self(Refusal::from(why))
    }

    fn refuse<T>(&self) -> Result<T, ForgeError> {
        Err(self.0.clone().into())
    }

    fn capabilities() -> Capabilities {
        Capabilities {
            name: "a forge that cannot be used",
            chooses_ids: false,
            shares_ids: true,
            moves_branches: true,
            reviews_own: OwnVerdict::None,
            longest_text: 0,
            longest_comment: 0,
        }
    }
}

impl Hosting for Unusable {
    fn tracker(&self, _: Author) -> Arc<dyn Tracker> {
        Arc::new(self.clone())
    }

    fn forge(&self, _: Author) -> Arc<dyn Forge> {
        Arc::new(self.clone())
    }
}

/// Calls that are all refused.
macro_rules! refused {
    ($($verb:ident($($kind:ty),*) -> $answer:ty;)+) => {
        $(fn $verb(&self, $(_: $kind),*) -> Result<$answer, ForgeError> {
            self.refuse()
        })+
    };
}

impl Tracker for Unusable {
    fn capabilities(&self) -> Capabilities {
        Self::capabilities()
    }

    refused! {
        whoami() -> Author;
        item(ItemId) -> Option<Arc<Item>>;
        items(Query<'_>) -> Vec<Arc<Item>>;
        changed_since(Time) -> Vec<Arc<Item>>;
        count_closed() -> u64;
        filed(&str) -> Option<ItemId>;
        file(&NewItem, Option<&str>) -> FiledItem;
        edit(ItemId, &Edit) -> Arc<Item>;
        comment(ItemId, &str, Option<&str>) -> Arc<Item>;
        ensure_labels(ItemId, &[&str], &[&str]) -> Arc<Item>;
        approve(ItemId) -> Arc<Item>;
        approval(&Item) -> Option<String>;
        assign(ItemId, Option<&str>) -> Arc<Item>;
        tick(ItemId, &[String]) -> Arc<Item>;
        untick(ItemId, &[String]) -> Arc<Item>;
        close(ItemId, Option<&str>) -> Arc<Item>;
        reopen(ItemId) -> Arc<Item>;
    }
}

impl Forge for Unusable {
    fn capabilities(&self) -> Capabilities {
        Self::capabilities()
    }

    refused! {
        whoami() -> Author;
        pull(ItemId) -> Option<Arc<Item>>;
        pulls(Query<'_>) -> Vec<Arc<Item>>;
        count_closed() -> u64;
        opened(&str) -> Option<ItemId>;
        ensure_pull(&NewPull, &str) -> FiledItem;
        offer_head(ItemId, &str, Option<&str>) -> Arc<Item>;
        comment(ItemId, &str, Option<&str>) -> Arc<Item>;
        review(ItemId, &str, Review, Option<&str>) -> Arc<Item>;
        merge(ItemId, &Merge<'_>) -> Arc<Item>;
        close(ItemId, Option<&str>) -> Arc<Item>;
        ensure_branch_removed(ItemId) -> ();
        files(ItemId) -> Vec<ChangedFile>;
        requirements(&str) -> Requirements;
    }
}
