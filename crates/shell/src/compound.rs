//! Compound commands: loops, branches, functions, tests. Every branch counts as taken.

use std::rc::Rc;

use brush_parser::ast;

use super::{
    parse::{GLOB, UNKNOWN},
    state::{Certainty, State, bounded_text},
    walk::{Walker, either},
    word::Mode,
};

/// How many values of a `for` loop are tried one by one.
const ROUNDS: usize = 16;

impl Walker<'_> {
    pub(super) fn compound(
        &mut self,
        compound: &ast::CompoundCommand,
        state: &mut State,
        stdin: &str,
    ) -> String {
        match compound {
            ast::CompoundCommand::Arithmetic(command) => {
                let text = &command.expr.value;
                self.arithmetic(text, state);
                // A shell without this form of arithmetic runs it as commands.
                if self.is_program(text) {
                    self.certainly(|walker| _ = walker.run(text, &mut state.clone(), stdin));
                }
                String::new()
            }
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                for part in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(&part.value, state);
                }
                self.again(&clause.body.list, state, stdin)
            }
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list, state, stdin),
            ast::CompoundCommand::Subshell(subshell) => {
                let mut inner = state.clone();
                let printed = self.list(&subshell.list, &mut inner, stdin);
                state.files.append(&mut inner.files);
                printed
            }
            ast::CompoundCommand::ForClause(clause) => self.for_each(clause, state, stdin),
            ast::CompoundCommand::CaseClause(clause) => self.case(clause, state, stdin),
            ast::CompoundCommand::IfClause(clause) => self.if_clause(clause, state, stdin),
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                let ast::WhileOrUntilClauseCommand(condition, body, _) = clause;
                self.perhaps(|walker| walker.list(condition, state, stdin));
                let printed = self.again(&body.list, state, stdin);
                self.perhaps(|walker| walker.list(condition, state, stdin));
                printed
            }
            ast::CompoundCommand::Coprocess(command) => {
                self.command(&command.body, &mut state.clone(), &UNKNOWN.to_string());
                String::new()
            }
        }
    }

    /// Walks the body of a loop twice: the second round sees what the first has changed.
    fn again(&mut self, body: &ast::CompoundList, state: &mut State, stdin: &str) -> String {
        self.perhaps(|walker| {
            let printed = walker.list(body, state, stdin);
            either(printed, walker.list(body, state, stdin))
        })
    }

    fn for_each(&mut self, clause: &ast::ForClauseCommand, state: &mut State, stdin: &str) -> String {
        let name = &clause.variable_name;
        let values: Option<Vec<String>> = match &clause.values {
            Some(words) => {
                let fields = words.iter().flat_map(|word| self.fields(&word.value, state));
                Some(fields.map(|field| field.text).collect())
            }
            None => state.positional.clone(),
        };
        let mut values = values.unwrap_or_else(|| vec![UNKNOWN.to_string()]);
        if values.len() > ROUNDS || values.iter().any(|value| value.contains([UNKNOWN, GLOB])) {
            // Two rounds with an unknown value stand for any number: the second sees what the first has changed.
            values = vec![UNKNOWN.to_string(); 2];
        }
        let mut printed = String::new();
        for value in values {
            state.set(name, vec![value], Certainty::Sure);
            printed.push_str(&self.perhaps(|walker| walker.list(&clause.body.list, state, stdin)));
            printed = bounded_text(printed);
        }
        state.forget(name);
        printed
    }

    fn case(&mut self, clause: &ast::CaseClauseCommand, state: &mut State, stdin: &str) -> String {
        self.text_of(&clause.value.value, Mode::Single, state);
        let mut printed = String::new();
        for item in &clause.cases {
            for pattern in &item.patterns {
                self.text_of(&pattern.value, Mode::Single, state);
            }
            if let Some(list) = &item.cmd {
                let more = self.perhaps(|walker| walker.list(list, state, stdin));
                printed = either(printed, more);
            }
        }
        printed
    }

    fn if_clause(&mut self, clause: &ast::IfClauseCommand, state: &mut State, stdin: &str) -> String {
        let mut printed = self.list(&clause.condition, state, stdin);
        self.perhaps(|walker| {
            printed = either(std::mem::take(&mut printed), walker.list(&clause.then, state, stdin));
            for part in clause.elses.iter().flatten() {
                if let Some(condition) = &part.condition {
                    walker.list(condition, state, stdin);
                }
                printed = either(std::mem::take(&mut printed), walker.list(&part.body, state, stdin));
            }
        });
        printed
    }

    /// Judges a function's body when it is defined, with arguments that nobody knows.
    pub(super) fn define(&mut self, function: &ast::FunctionDefinition, state: &mut State) -> String {
        let name = self.text_of(&function.fname.value, Mode::Single, state);
        let body = Rc::new(function.body.clone());
        let mut inner = state.clone();
        inner.positional = None;
        self.active.push(name.clone());
        self.perhaps(|walker| walker.body(&body, &mut inner, &UNKNOWN.to_string()));
        self.active.pop();
        state.functions.insert(name, body);
        String::new()
    }

    /// Runs the body of a function.
    pub(super) fn body(&mut self, body: &ast::FunctionBody, state: &mut State, stdin: &str) -> String {
        let ast::FunctionBody(compound, redirections) = body;
        self.redirected(redirections.as_ref(), state, stdin, |walker, state, stdin| {
            walker.compound(compound, state, stdin)
        })
    }

    /// Expands the words of a `[[ … ]]`; its tree can be deep, so it is not walked by recursion.
    pub(super) fn test(&mut self, expression: &ast::ExtendedTestExpr, state: &mut State) {
        let mut pending = vec![expression];
        while let Some(expression) = pending.pop() {
            match expression {
                ast::ExtendedTestExpr::And(left, right) | ast::ExtendedTestExpr::Or(left, right) => {
                    pending.extend([&**left, &**right]);
                }
                ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => {
                    pending.push(inner);
                }
                ast::ExtendedTestExpr::UnaryTest(_, word) => self.test_word(&word.value, state),
                ast::ExtendedTestExpr::BinaryTest(_, left, right) => {
                    self.test_word(&left.value, state);
                    self.test_word(&right.value, state);
                }
            }
        }
    }

    /// A word in a test may be arithmetic, and is then expanded a second time.
    fn test_word(&mut self, raw: &str, state: &mut State) {
        let text = self.text_of(raw, Mode::Single, state);
        if raw != text {
            self.hidden_substitutions(&text, state);
        }
    }
}
