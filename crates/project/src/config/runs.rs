//! The settings of a run that begins now: it goes by the `warp.toml` that is committed in the merge target.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Config, ConfigError, LARGEST, load};
use crate::{Dirs, Place, base};

/// Returns the settings that a run which begins now would have, and the branch that its work goes to.
///
/// `base` may name another merge target than the one that is found; that one's `warp.toml` counts for all else.
pub fn for_runs(
    place: &Place,
    dirs: &Dirs,
    flags: &[(String, String)],
) -> Result<(Config, String), ConfigError> {
    let found = place.git().branches().merge_target;
    let config = load(place, dirs, pinned(place, &found)?.file, flags)?;
    let target = base::merge_target(place, &config.settings)?;
    if target == found {
        return Ok((config, target));
    }
    Ok((load(place, dirs, pinned(place, &target)?.file, flags)?, target))
}

/// The `warp.toml` that a run goes by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pinned {
    /// Its name and its text; nothing if it was never committed, so that the person's counts as it is.
    pub(crate) file: Option<(String, String)>,
    /// How the person's own differs from it.
    pub(crate) differs: Option<String>,
}

/// Returns the `warp.toml` that a run is pinned to, which is the merge target's, so that what an agent edits in its tree
/// changes nothing for its own run.
pub(crate) fn pinned(place: &Place, target: &str) -> Result<Pinned, ConfigError> {
    let read = place.git().file_in(target, "warp.toml").map_err(|problem| ConfigError::Pinned { problem })?;
    let Some(committed) = read else { return Ok(Pinned::default()) };
    let root = place.origin().unwrap_or(&place.root);
    let here = crate::text::read(&root.join("warp.toml"), LARGEST).unwrap_or_default();
    let differs = differences(&committed, &here).map(|what| {
        format!("warp.toml differs from the one in `{target}`; the run goes by `{target}`: {what}")
    });
    Ok(Pinned { file: Some((format!("{target}:warp.toml"), committed)), differs })
}

/// Says which settings two files have otherwise; nothing if none. One that cannot be read is another file.
fn differences(committed: &str, here: &str) -> Option<String> {
    compared(committed, here, ("there", "here")).unwrap_or_else(|| Some("yours cannot be read".to_owned()))
}

/// Says which settings two files have otherwise, by what each of them is called; nothing if they differ and cannot be read.
pub(super) fn compared(one: &str, other: &str, names: (&str, &str)) -> Option<Option<String>> {
    let parse = |text: &str| toml::from_str::<Map<String, Value>>(text).ok();
    let (Some(committed), Some(here)) = (parse(one), parse(other)) else {
        return (one == other).then_some(None);
    };
    let flat = |tables: Map<String, Value>| -> BTreeMap<String, Value> {
        let rows = tables.into_iter().flat_map(|(section, values)| {
            let name =
                move |key: String| if section == "workflow" { key } else { format!("{section}.{key}") };
            let values = values.as_object().cloned().unwrap_or_default();
            values.into_iter().map(move |(key, value)| (name(key), value))
        });
        rows.collect()
    };
    let (committed, here) = (flat(committed), flat(here));
    let keys: BTreeSet<&String> = committed.keys().chain(here.keys()).collect();
    let say = |value: Option<&Value>| value.map_or_else(|| "not set".to_owned(), Value::to_string);
    let rows = keys.into_iter().filter(|key| committed.get(*key) != here.get(*key)).map(|key| {
        let (one, other) = (say(committed.get(key)), say(here.get(key)));
        format!("{key} is {one} {}, {other} {}", names.0, names.1)
    });
    let rows: Vec<String> = rows.collect();
    Some((!rows.is_empty()).then(|| rows.join("; ")))
}

/// Returns the settings of a run that begins now, and how the person's `warp.toml` differs from the one that it goes by.
pub fn of_runs(
    place: &Place,
    dirs: &Dirs,
    flags: &[(String, String)],
) -> Result<(Config, Option<String>), ConfigError> {
    let (config, target) = for_runs(place, dirs, flags)?;
    Ok((config, pinned(place, &target)?.differs))
}
