//! Labels: by id, with names that need not be unique.

use serde_json::Value;

use super::{Call, shapes};
use crate::forges::{
    http::{Answer, Reply},
    traps::Trap,
    world::{Kind, Label, Role},
};

impl Call<'_> {
    pub(super) fn labels(&mut self, method: &str, repo: usize, rest: &[&str]) -> Reply {
        match (method, rest) {
            ("GET", []) => {
                let mut all = self.repository(repo).labels.clone();
                all.sort_by(|one, other| (&one.name, one.id).cmp(&(&other.name, other.id)));
                self.list(all, |label| shapes::label(self.world, repo, &label))
            }
            ("POST", []) => {
                self.need(repo, Role::Write)?;
                let name = self.text("name").filter(|name| !name.is_empty());
                let name = name.ok_or_else(|| self.refuse(422, "[Name]: Required"))?;
                let color = self.color()?.ok_or_else(|| self.refuse(422, "[Color]: Required"))?;
                let is_known = self.repository(repo).labels.iter().any(|label| label.name == name);
                if is_known && !self.world.has(Trap::DuplicateLabels) {
                    return Err(self.refuse(409, "label already exists"));
                }
                let description = self.text("description").unwrap_or_default();
                let label = self.world.add_label(repo, &name, &color, &description);
                Ok(Answer::json(201, &shapes::label(self.world, repo, &label)))
            }
            ("GET", [id]) => {
                let label = self.label_of(repo, id)?;
                Ok(Answer::json(200, &shapes::label(self.world, repo, &label)))
            }
            ("PATCH", [id]) => {
                self.need(repo, Role::Write)?;
                let label = self.label_of(repo, id)?;
                let (name, color, description) = (self.text("name"), self.color()?, self.text("description"));
                let all = self.world.repos[repo].labels.iter_mut();
                for found in all.filter(|other| other.id == label.id) {
                    found.name = name.clone().unwrap_or_else(|| found.name.clone());
                    found.color = color.clone().unwrap_or_else(|| found.color.clone());
                    found.description = description.clone().unwrap_or_else(|| found.description.clone());
                }
                let label = self.label_of(repo, id)?;
                Ok(Answer::json(200, &shapes::label(self.world, repo, &label)))
            }
            ("DELETE", [id]) => {
                self.need(repo, Role::Write)?;
                let label = self.label_of(repo, id)?;
                self.world.delete_label(repo, label.id);
                Ok(Answer::empty(204))
            }
            _ => Err(self.not_found()),
        }
    }

    fn color(&self) -> Result<Option<String>, Answer> {
        let Some(color) = self.text("color") else { return Ok(None) };
        let digits = color.trim_start_matches('#');
        let is_color =
            matches!(digits.len(), 3 | 6) && digits.chars().all(|letter| letter.is_ascii_hexdigit());
        if is_color { Ok(Some(color.to_lowercase())) } else { Err(self.refuse(422, "invalid color format")) }
    }

    fn label_of(&self, repo: usize, id: &str) -> Result<Label, Answer> {
        let id = id.parse().map_err(|_| self.not_found())?;
        self.repository(repo).label(id).cloned().ok_or_else(|| self.not_found())
    }

    pub(super) fn issue_labels(&mut self, method: &str, repo: usize, number: u64, rest: &[&str]) -> Reply {
        if method == "GET" && rest.is_empty() {
            return Ok(Answer::json(200, &self.attached(repo, number)));
        }
        let login = self.need(repo, Role::Write)?;
        match (method, rest) {
            ("POST", []) => {
                let ids = self.named(repo)?;
                self.world.add_labels(repo, number, &login, &ids);
            }
            ("PUT", []) => {
                let ids = self.named(repo)?;
                self.world.set_labels(repo, number, &login, &ids);
            }
            ("DELETE", []) => {
                self.world.set_labels(repo, number, &login, &[]);
                return Ok(Answer::empty(204));
            }
            ("DELETE", [label]) => {
                let ids = self.identified(repo, label);
                if ids.is_empty() {
                    return Err(self.refuse(422, "label does not exist"));
                }
                self.world.remove_labels(repo, number, &login, &ids);
                return Ok(Answer::empty(204));
            }
            _ => return Err(self.not_found()),
        }
        Ok(Answer::json(200, &self.attached(repo, number)))
    }

    fn attached(&self, repo: usize, number: u64) -> Value {
        let repository = self.repository(repo);
        let ids = repository.issue(number).map(|issue| issue.labels.clone()).unwrap_or_default();
        let mut all: Vec<&Label> = ids.iter().filter_map(|id| repository.label(*id)).collect();
        all.sort_by(|one, other| (&one.name, one.id).cmp(&(&other.name, other.id)));
        Value::Array(all.into_iter().map(|label| shapes::label(self.world, repo, label)).collect())
    }

    /// Returns the labels that the body names, by id or by name. A name means every label that has it; what is not there
    /// is left out without a word.
    fn named(&self, repo: usize) -> Result<Vec<u64>, Answer> {
        let list = self.body["labels"].as_array().cloned().unwrap_or_default();
        let labels = &self.repository(repo).labels;
        let mut ids = Vec::new();
        for wanted in &list {
            let matching = labels.iter().filter(|label| match wanted {
                Value::Number(id) => id.as_u64() == Some(label.id),
                Value::String(name) => *name == label.name,
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
            });
            let before = ids.len();
            ids.extend(matching.map(|label| label.id));
            if ids.len() == before && !self.world.has(Trap::SilentUnknownLabel) {
                return Err(self.refuse(422, "label does not exist"));
            }
        }
        Ok(ids)
    }

    /// Returns the labels that a path names: by id, and on Forgejo by name too.
    fn identified(&self, repo: usize, text: &str) -> Vec<u64> {
        let labels = self.repository(repo).labels.iter();
        let is_meant = |label: &&Label| {
            text.parse() == Ok(label.id) || (self.world.kind != Kind::Gitea && text == label.name)
        };
        labels.filter(is_meant).map(|label| label.id).collect()
    }
}
