//! The file of known refs. One that is read is written and read again as the same.
#![no_main]

use std::sync::LazyLock;

use fuzz::scene::Scene;
use libfuzzer_sys::fuzz_target;
use project::rails::Known;

static PLACE: LazyLock<Scene> = LazyLock::new(Scene::empty);

fuzz_target!(|text: &str| {
    PLACE.write("refs", text);
    match Known::load(PLACE.root()) {
        Ok(known) => {
            let known = known.expect("the file is there");
            known.store(PLACE.root()).expect("known refs can be written");
            let again = Known::load(PLACE.root()).expect("what was written can be read");
            assert_eq!(again.as_ref(), Some(&known));
            assert_eq!(known.compare(&known.refs), []);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
