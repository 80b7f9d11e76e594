//! Issues from files: a file is one issue, however often it is imported.

use std::{
    collections::BTreeSet,
    io::{self, Read as _},
    path::Path,
    sync::Arc,
};

use engine::{criterion, digest, open_boxes, read_boxes, split_title, with_ticks};

use super::{Edit, Filed, Forge, ForgeError, Item, NewItem, text::BODY};
use crate::text;

/// A file's text on its way to an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromFile {
    /// Where it is, which tells it from others.
    pub file: String,
    /// Markdown; the first `# ` heading is the title.
    pub text: String,
    /// The number it must have.
    pub number: Option<u64>,
    /// The number it has if nobody else has it.
    pub hoped_for: Option<u64>,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    pub item: Arc<Item>,
    /// Whether the issue was there before, and was brought up to date.
    pub was_there: bool,
}

/// Reads a Markdown text from a file, or from the standard input if it is `-`.
pub fn read_markdown(path: &Path) -> io::Result<String> {
    let largest = BODY as u64;
    if path != Path::new("-") {
        return text::read(path, largest);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().take(largest.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        let problem = format!("it has more than {largest} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

impl Forge<'_> {
    /// Files an issue from a file, or brings the one that was filed from it up to date.
    ///
    /// A criterion that was ticked meanwhile stays so: importing again takes no work back.
    pub fn import(&mut self, from: &FromFile) -> Result<Imported, ForgeError> {
        let no_title = || ForgeError::Text {
            what: "file",
            problem: format!("`{}` has no `# ` heading for a title", from.file),
        };
        let (title, body) = split_title(&from.text).ok_or_else(no_title)?;
        let marker = format!("import:{}", digest(&from.file));
        let filed = match self.filed(&marker)? {
            Some(number) => Filed { number, was_there: true },
            None => {
                self.file_imported(NewItem::of(title.clone(), body.clone(), BTreeSet::new()), from, &marker)?
            }
        };
        if from.number.is_some_and(|number| number != filed.number) {
            return Err(ForgeError::ImportedAs { file: from.file.clone(), number: filed.number });
        }
        let mut item = self.item(filed.number)?.ok_or(ForgeError::Missing { number: filed.number })?;
        if filed.was_there {
            let body = keep_ticks(&item.body, &body);
            item = self.edit(filed.number, &Edit { title: Some(title), body: Some(body) })?;
        }
        Ok(Imported { item, was_there: filed.was_there })
    }

    fn file_imported(&mut self, new: NewItem, from: &FromFile, marker: &str) -> Result<Filed, ForgeError> {
        if from.number.is_none() && from.hoped_for.is_some() {
            let hoped_for = NewItem { number: from.hoped_for, ..new.clone() };
            match self.file(hoped_for, Some(marker)) {
                Err(ForgeError::Taken { .. } | ForgeError::Number { .. }) => {}
                filed => return filed,
            }
        }
        self.file(NewItem { number: from.number, ..new }, Some(marker))
    }
}

/// Ticks the boxes of a text that were ticked in an older one.
fn keep_ticks(old: &str, new: &str) -> String {
    let ticked: BTreeSet<String> =
        read_boxes(old).items.into_iter().filter(|(ticked, _)| *ticked).map(|(_, text)| text).collect();
    let boxes = read_boxes(new).items.into_iter().enumerate();
    let criteria: Vec<String> =
        boxes.filter(|(_, (_, text))| ticked.contains(text)).map(|(index, _)| criterion(index)).collect();
    let open = open_boxes(new, &criteria);
    with_ticks(new, &open)
}
