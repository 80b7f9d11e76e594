//! What a file of git's settings says.

use std::{collections::BTreeSet, ffi::OsString, path::Path, time::Duration};

use super::own;

/// How long git may take to read a small file.
const LIMIT: Duration = Duration::from_secs(10);

/// Returns every setting of a file as `KEY\nVALUE`; nothing if git cannot read it. Files that it includes are not read.
pub fn listed(text: &[u8]) -> Option<BTreeSet<String>> {
    let arguments = ["config", "--no-includes", "--file", "-", "--list", "-z"];
    let options: Vec<OsString> = Vec::new();
    let limits = (LIMIT, None);
    let finished =
        own::call(text.to_vec(), options, &arguments, own::elsewhere(), Path::new("/"), &[], limits).ok()?;
    let text = String::from_utf8(finished.stdout.clone()).ok().filter(|_| finished.is_success())?;
    Some(text.split('\0').filter(|entry| !entry.is_empty()).map(str::to_owned).collect())
}
