//! Labels: a repository's, and those of an issue.

use serde_json::Value;

use super::{Call, error, invalid, not_found, shapes};
use crate::forges::{
    http::{Answer, Reply},
    traps::Trap,
    world::{Label, Role},
};

/// The colour of a label that is made because somebody attaches it.
const PLAIN: &str = "ededed";

impl Call<'_> {
    /// Finds a label by its name; case does not matter.
    pub(super) fn label_named(&self, repo: usize, name: &str) -> Option<Label> {
        let name = name.to_lowercase();
        self.repository(repo).labels.iter().find(|label| label.name.to_lowercase() == name).cloned()
    }

    pub(super) fn labels(&mut self, method: &str, repo: usize, rest: &[&str]) -> Reply {
        match (method, rest) {
            ("GET", []) => {
                let mut all = self.repository(repo).labels.clone();
                all.sort_by_key(|label| label.name.to_lowercase());
                self.list(all, |label| shapes::label(self.world, repo, &label))
            }
            ("POST", []) => {
                self.need(repo, Role::Write)?;
                let name = self.text("name").filter(|name| !name.is_empty());
                let name = name.ok_or_else(|| invalid("Label", "name", "missing_field", None))?;
                if self.label_named(repo, &name).is_some() {
                    return Err(invalid("Label", "name", "already_exists", None));
                }
                let color = self.color()?.unwrap_or_else(|| PLAIN.to_owned());
                let description = self.text("description").unwrap_or_default();
                let label = self.world.add_label(repo, &name, &color, &description);
                Ok(Answer::json(201, &shapes::label(self.world, repo, &label)))
            }
            ("GET", [name]) => {
                let label = self.label_named(repo, name).ok_or_else(not_found)?;
                Ok(Answer::json(200, &shapes::label(self.world, repo, &label)))
            }
            ("PATCH", [name]) => {
                self.need(repo, Role::Write)?;
                let label = self.label_named(repo, name).ok_or_else(not_found)?;
                let wanted = self.text("new_name").unwrap_or_else(|| label.name.clone());
                if self.label_named(repo, &wanted).is_some_and(|other| other.id != label.id) {
                    return Err(invalid("Label", "name", "already_exists", None));
                }
                let (color, description) = (self.color()?, self.text("description"));
                let all = self.world.repos[repo].labels.iter_mut();
                for found in all.filter(|other| other.id == label.id) {
                    found.name.clone_from(&wanted);
                    found.color = color.clone().unwrap_or_else(|| found.color.clone());
                    found.description = description.clone().unwrap_or_else(|| found.description.clone());
                }
                let label = self.label_named(repo, &wanted).ok_or_else(not_found)?;
                Ok(Answer::json(200, &shapes::label(self.world, repo, &label)))
            }
            ("DELETE", [name]) => {
                self.need(repo, Role::Write)?;
                let label = self.label_named(repo, name).ok_or_else(not_found)?;
                self.world.delete_label(repo, label.id);
                Ok(Answer::empty(204))
            }
            _ => Err(not_found()),
        }
    }

    fn color(&self) -> Result<Option<String>, Answer> {
        let Some(color) = self.text("color") else { return Ok(None) };
        let is_color = color.len() == 6 && color.chars().all(|letter| letter.is_ascii_hexdigit());
        if is_color { Ok(Some(color)) } else { Err(invalid("Label", "color", "invalid", None)) }
    }

    pub(super) fn issue_labels(&mut self, method: &str, repo: usize, number: u64, rest: &[&str]) -> Reply {
        if method == "GET" && rest.is_empty() {
            return self.list(self.attached(repo, number), |label| shapes::label(self.world, repo, &label));
        }
        let login = self.need(repo, Role::Write)?;
        match (method, rest) {
            ("POST", []) => {
                let ids = self.label_ids(repo, &self.label_names())?;
                self.world.add_labels(repo, number, &login, &ids);
            }
            ("PUT", []) => {
                let ids = self.label_ids(repo, &self.label_names())?;
                self.world.set_labels(repo, number, &login, &ids);
            }
            ("DELETE", []) => {
                self.world.set_labels(repo, number, &login, &[]);
                return Ok(Answer::empty(204));
            }
            ("DELETE", [name]) => {
                let name = name.to_lowercase();
                let attached = self.attached(repo, number).into_iter();
                let found = attached.into_iter().find(|label| label.name.to_lowercase() == name);
                let label = found.ok_or_else(|| error(404, "Label does not exist"))?;
                self.world.remove_labels(repo, number, &login, &[label.id]);
            }
            _ => return Err(not_found()),
        }
        let shown = self.attached(repo, number);
        let shown = shown.iter().map(|label| shapes::label(self.world, repo, label)).collect();
        Ok(Answer::json(200, &Value::Array(shown)))
    }

    fn attached(&self, repo: usize, number: u64) -> Vec<Label> {
        let repository = self.repository(repo);
        let ids = repository.issue(number).map(|issue| issue.labels.clone()).unwrap_or_default();
        ids.iter().filter_map(|id| repository.label(*id).cloned()).collect()
    }

    /// Returns the names in a body, which may be an object or the bare list.
    fn label_names(&self) -> Vec<String> {
        let bare = self.body.as_array().map(|list| {
            list.iter()
                .filter_map(|name| name.as_str().or_else(|| name["name"].as_str()).map(str::to_owned))
                .collect()
        });
        bare.or_else(|| self.texts("labels")).unwrap_or_default()
    }

    /// Returns the labels of these names; those that are not there are made.
    pub(super) fn label_ids(&mut self, repo: usize, names: &[String]) -> Result<Vec<u64>, Answer> {
        let mut ids = Vec::new();
        for name in names {
            let known = self.label_named(repo, name);
            let label = match known {
                Some(label) => label,
                None if self.world.has(Trap::LabelsMadeOnUse) => self.world.add_label(repo, name, PLAIN, ""),
                None => return Err(invalid("Label", "name", "invalid", None)),
            };
            ids.push(label.id);
        }
        Ok(ids)
    }
}
