//! Users, collaborators, and who may be assigned.

use serde_json::json;

use super::{Call, error, not_found, shapes};
use crate::forges::{
    http::{Answer, Reply},
    world::{Role, World},
};

impl Call<'_> {
    pub(super) fn whoami(&self) -> Reply {
        let login = self.login()?;
        Ok(Answer::json(200, &shapes::full_user(self.world, &login)))
    }

    pub(super) fn somebody(&self, login: &str) -> Reply {
        let user = self.world.user(login).ok_or_else(not_found)?;
        Ok(Answer::json(200, &shapes::full_user(self.world, &user.login)))
    }

    pub(super) fn people(&self, method: &str, repo: usize, rest: &[&str]) -> Reply {
        match (method, rest) {
            ("GET", []) => {
                if self.request.path.ends_with("/collaborators") {
                    self.need(repo, Role::Write)?;
                }
                self.list(members(self.world, repo), |login| {
                    let role = self.world.role(self.repository(repo), Some(&login));
                    let shown = shapes::user(self.world, &login);
                    if self.request.path.ends_with("/assignees") {
                        return shown;
                    }
                    shapes::with(
                        shown,
                        &[
                            ("role_name", json!(shapes::role_words(role))),
                            ("permissions", shapes::permissions(role)),
                        ],
                    )
                })
            }
            ("GET", [login]) => {
                let role = self.world.role(self.repository(repo), Some(login));
                if role == Role::None { Err(not_found()) } else { Ok(Answer::empty(204)) }
            }
            ("GET", [login, "permission"]) => {
                if self.role(repo) < Role::Write {
                    return Err(error(403, "Must have push access to view collaborator permission."));
                }
                let user = self.world.user(login).ok_or_else(not_found)?;
                let role = self.world.role(self.repository(repo), Some(&user.login));
                // What is public can be read by everybody.
                let is_public = !self.repository(repo).is_private;
                let role = if is_public { role.max(Role::Read) } else { role };
                let words = shapes::role_words(role);
                let shown = shapes::with(
                    shapes::user(self.world, &user.login),
                    &[("permissions", shapes::permissions(role)), ("role_name", json!(words))],
                );
                Ok(Answer::json(200, &json!({ "permission": words, "role_name": words, "user": shown })))
            }
            _ => Err(not_found()),
        }
    }
}

/// Returns who has a role in a repository.
pub(super) fn members(world: &World, repo: usize) -> Vec<String> {
    let repository = &world.repos[repo];
    let people = world.users.iter().filter(|user| !user.is_organization);
    people
        .filter(|user| world.role(repository, Some(&user.login)) > Role::None)
        .map(|user| user.login.clone())
        .collect()
}
