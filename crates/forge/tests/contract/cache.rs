//! What the embedded forge reads again.

use std::sync::Arc;

use forge::{Author, ItemId, LocalForge, NewItem, Query, Tracker, fake::Memory};
use journal::MemoryStore;

#[test]
fn what_is_unchanged_is_read_once_whoever_asks() {
    let store = Arc::new(MemoryStore::new());
    let forge = || LocalForge::new(Arc::new(Memory::new(Arc::clone(&store) as _)), Author::warp());
    let (ours, theirs) = (forge(), forge());
    for title in ["One", "Two"] {
        ours.file(&NewItem { title: title.to_owned(), ..NewItem::default() }, None).unwrap();
    }
    let before = ours.items(Query::Open).unwrap();
    let ada = ours.by(Author::person("Ada"));
    let again = Tracker::item(&ada, ItemId::from(1)).unwrap().unwrap();
    assert!(Arc::ptr_eq(&again, &before[0]));

    Tracker::comment(&theirs, ItemId::from(2), "Look.", None).unwrap();
    let after = ours.items(Query::Open).unwrap();
    assert!(Arc::ptr_eq(&after[0], &before[0]));
    assert_eq!((before[1].comments.len(), after[1].comments.len()), (0, 1));

    Tracker::close(&theirs, ItemId::from(2), None).unwrap();
    assert_eq!(ours.items(Query::Open).unwrap(), [Arc::clone(&before[0])]);
}
