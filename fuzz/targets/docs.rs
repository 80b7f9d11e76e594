//! Pages of the docs and texts of `--help`: every place is in the text, what is written there is what was read, and none
//! takes long.
#![no_main]

use fuzz::soon;
use libfuzzer_sys::fuzz_target;
use drift::{page::Page, usage::Help};

fuzz_target!(|text: &str| {
    let page = soon(|| Page::read(text));
    for link in &page.links {
        assert!(link.at <= text.len());
        if let Some(place) = &link.place {
            assert_eq!(text.get(place.clone()), Some(link.target.as_str()));
        }
    }
    for part in page.codes.iter().chain(&page.undefined) {
        assert!(text.get(part.at.clone()).is_some());
    }
    for line in &page.lines {
        assert!(line.at <= text.len());
    }
    for mark in &page.marks {
        assert!(text[mark.at..].starts_with("<!-- warp:"));
        assert!(mark.body.as_ref().is_none_or(|body| text.get(body.clone()).is_some()));
    }
    let help = soon(|| Help::read(text));
    assert!(help.flags.keys().all(|flag| flag.starts_with('-') && text.contains(flag.as_str())));
    assert!(help.commands.iter().all(|command| text.contains(command.as_str())));
});
