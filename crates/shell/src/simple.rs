//! Simple commands: assignments, redirections, then the program that is called.

use brush_parser::ast::{
    Assignment, AssignmentName, AssignmentValue, CommandPrefixOrSuffixItem, IoFileRedirectKind,
    IoFileRedirectTarget, IoRedirect, ProcessSubstitutionKind, RedirectList, SimpleCommand, SubshellCommand,
};

use super::{
    guard::Access,
    parse::{GLOB, UNKNOWN},
    state::{State, bounded_text},
    walk::Walker,
    word::{Field, Mode},
};

/// Files with a larger number stand for process substitutions.
const SUBSTITUTED: u32 = 100;

/// What is refused by whatever runs its input.
const PROBE: &str = "git push\n";

/// The largest index up to which an array is followed.
const ELEMENTS: usize = 64;

/// What redirections make of a command's input and output.
#[derive(Default)]
struct Streams {
    stdin: Option<String>,
    stdout: Option<String>,
    append: bool,
}

/// A process substitution that is written to, by the name that stands for it.
type Reader<'c> = (String, &'c SubshellCommand);

/// A variable set for one command, with its previous value.
pub(super) struct TemporaryVariable {
    name: String,
    value: Option<Vec<String>>,
    was_exported: bool,
}

impl TemporaryVariable {
    pub(super) fn of(name: &str, state: &State) -> Self {
        Self {
            name: name.to_owned(),
            value: state.get(name).map(<[String]>::to_vec),
            was_exported: state.exported.contains(name),
        }
    }

    /// Makes variables what they were; the first that was set comes last.
    pub(super) fn give_back(lent: Vec<Self>, state: &mut State) {
        for variable in lent.into_iter().rev() {
            state.restore(&variable.name, variable.value);
            if !variable.was_exported {
                state.exported.remove(&variable.name);
            }
        }
    }
}

impl Walker<'_> {
    pub(super) fn simple(&mut self, command: &SimpleCommand, state: &mut State, stdin: &str) -> String {
        let mut redirections = Vec::new();
        let mut assignments = Vec::new();
        let mut readers: Vec<Reader<'_>> = Vec::new();
        for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                CommandPrefixOrSuffixItem::IoRedirect(redirection) => redirections.push(redirection),
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => assignments.push(assignment),
                CommandPrefixOrSuffixItem::Word(_) => {}
                CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
                    self.process(kind, subshell, state, &mut readers);
                }
            }
        }
        let Some(name) = &command.word_or_name else {
            for assignment in assignments {
                self.assign(assignment, state);
            }
            let mut streams = self.redirections(redirections, state, &mut readers);
            // `$(<file)` is what the file holds, and some shells print it without being asked.
            let printed = streams.stdin.take().unwrap_or_default();
            let printed = self.delivered(streams, printed, state);
            self.read_by(readers, state);
            return printed;
        };
        if name.value.contains('(') && !name.value.contains(['$', '`', '\'', '"']) {
            self.deny(
                "a command's name is an extended pattern, which not every shell reads alike: write it out",
            );
        }
        let mut fields = self.fields(&name.value, state);
        let mut arrays = Vec::new();
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                CommandPrefixOrSuffixItem::IoRedirect(redirection) => redirections.push(redirection),
                CommandPrefixOrSuffixItem::Word(word) => fields.extend(self.fields(&word.value, state)),
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => match assignment.value {
                    AssignmentValue::Array(_) => arrays.push(assignment),
                    AssignmentValue::Scalar(_) => fields.extend(self.fields(&word.value, state)),
                },
                CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
                    fields.push(self.process(kind, subshell, state, &mut readers));
                }
            }
        }
        // Only declarations take a list, and they give it to the shell.
        for array in arrays {
            self.assign(array, state);
        }
        let streams = self.redirections(redirections, state, &mut readers);
        let stdin = streams.stdin.clone().unwrap_or_else(|| stdin.to_owned());
        let before = self.lend(assignments, state);
        let printed = self.call(&fields, state, &stdin);
        TemporaryVariable::give_back(before, state);
        let printed = self.delivered(streams, printed, state);
        self.read_by(readers, state);
        printed
    }

    /// Runs the process substitutions that were written to: with what was written, as far as that is known.
    fn read_by(&mut self, readers: Vec<Reader<'_>>, state: &mut State) {
        for (name, subshell) in readers {
            let text = state.files.remove(&name);
            // With `exec`, what is printed from then on is written to it.
            let text = text.filter(|text| !text.is_empty());
            if text.is_none()
                && self.would_deny(|walker| _ = walker.list(&subshell.list, &mut state.clone(), PROBE))
            {
                self.deny(
                    "what is printed is run by a shell that cannot be followed: run the commands themselves",
                );
            }
            let text = text.map_or_else(|| UNKNOWN.to_string(), |text| text.to_string());
            let mut inner = state.clone();
            self.deeper(|walker| walker.list(&subshell.list, &mut inner, &text));
            state.files.append(&mut inner.files);
        }
    }

    /// Sets variables for the length of one command, and returns what they were.
    fn lend(&mut self, assignments: Vec<&Assignment>, state: &mut State) -> Vec<TemporaryVariable> {
        let mut before = Vec::new();
        for assignment in assignments {
            let (AssignmentName::VariableName(name) | AssignmentName::ArrayElementName(name, _)) =
                &assignment.name;
            before.push(TemporaryVariable::of(name, state));
            self.assign(assignment, state);
            self.exported(name, state);
            state.exported.insert(name.clone());
        }
        before
    }

    fn assign(&mut self, assignment: &Assignment, state: &mut State) {
        let mut value = match &assignment.value {
            AssignmentValue::Scalar(word) => vec![self.text_of(&word.value, Mode::Single, state)],
            AssignmentValue::Array(elements) => {
                for key in elements.iter().filter_map(|(key, _)| key.as_ref()) {
                    self.arithmetic(&key.value, state);
                }
                let fields = elements.iter().flat_map(|(_, word)| self.fields(&word.value, state));
                fields.map(|field| field.text).collect()
            }
        };
        let (name, index) = match &assignment.name {
            AssignmentName::VariableName(name) => (name, None),
            AssignmentName::ArrayElementName(name, index) => (name, Some(self.arithmetic(index, state))),
        };
        if let Some(index) = index {
            value = with_element(state.get(name), &index, &value.concat());
        } else if assignment.append {
            let is_list = matches!(assignment.value, AssignmentValue::Array(_));
            value = appended(state.get(name), value, is_list);
        }
        self.set_variable(name, value, state);
    }

    /// Sets a variable, after a look at what it means to the programs that follow.
    pub(super) fn set_variable(&mut self, name: &str, value: Vec<String>, state: &mut State) {
        let text = value.concat();
        self.environment(name, &text, state);
        if matches!(name, "PS0" | "PS1" | "PS2" | "PS4" | "PROMPT_COMMAND") {
            // A prompt is expanded whenever it is shown.
            self.hidden_substitutions(&text, state);
        }
        state.set(name, value, self.certainty);
    }

    /// Runs `inner` with its input and output redirected.
    pub(super) fn redirected(
        &mut self,
        redirections: Option<&RedirectList>,
        state: &mut State,
        stdin: &str,
        inner: impl FnOnce(&mut Self, &mut State, &str) -> String,
    ) -> String {
        let Some(redirections) = redirections else { return inner(self, state, stdin) };
        let mut readers = Vec::new();
        let streams = self.redirections(redirections.0.iter().collect(), state, &mut readers);
        let stdin = streams.stdin.clone().unwrap_or_else(|| stdin.to_owned());
        let printed = inner(self, state, &stdin);
        let printed = self.delivered(streams, printed, state);
        self.read_by(readers, state);
        printed
    }

    fn redirections<'c>(
        &mut self,
        redirections: Vec<&'c IoRedirect>,
        state: &mut State,
        readers: &mut Vec<Reader<'c>>,
    ) -> Streams {
        let mut streams = Streams::default();
        for redirection in redirections {
            match redirection {
                IoRedirect::File(descriptor, kind, target) => {
                    let target = match target {
                        IoFileRedirectTarget::Filename(word) => self.target(&word.value, state),
                        IoFileRedirectTarget::Duplicate(word) => {
                            let text = self.target(&word.value, state);
                            if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
                                continue;
                            }
                            text
                        }
                        IoFileRedirectTarget::Fd(_) => continue,
                        IoFileRedirectTarget::ProcessSubstitution(kind, subshell) => {
                            self.process(kind, subshell, state, readers).text
                        }
                    };
                    self.file_redirection(*descriptor, kind, target, state, &mut streams);
                }
                IoRedirect::HereDocument(descriptor, document) => {
                    let raw = &document.doc.value;
                    let text = match document.requires_expansion {
                        true => self.text_of(raw, Mode::Here, state),
                        false => raw.clone(),
                    };
                    input(&mut streams, *descriptor, text);
                }
                IoRedirect::HereString(descriptor, word) => {
                    let text = self.text_of(&word.value, Mode::Single, state);
                    input(&mut streams, *descriptor, format!("{text}\n"));
                }
                IoRedirect::OutputAndError(word, append) => {
                    let path = self.target(&word.value, state);
                    self.output(&mut streams, path, *append, state);
                }
            }
        }
        streams
    }

    fn file_redirection(
        &mut self,
        descriptor: Option<i32>,
        kind: &IoFileRedirectKind,
        path: String,
        state: &mut State,
        streams: &mut Streams,
    ) {
        let is_output = matches!(descriptor, None | Some(1));
        match kind {
            IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => {
                let text = self.content(&path, state, &UNKNOWN.to_string());
                input(streams, descriptor, text);
            }
            IoFileRedirectKind::Write
            | IoFileRedirectKind::Clobber
            | IoFileRedirectKind::DuplicateOutput
            | IoFileRedirectKind::ReadAndWrite
                if is_output =>
            {
                self.output(streams, path, false, state);
            }
            IoFileRedirectKind::Append if is_output => self.output(streams, path, true, state),
            IoFileRedirectKind::Write
            | IoFileRedirectKind::Clobber
            | IoFileRedirectKind::DuplicateOutput
            | IoFileRedirectKind::ReadAndWrite
            | IoFileRedirectKind::Append => self.touch(&path, Access::Write, state),
        }
    }

    /// Expands the name of a file that is redirected to or from.
    fn target(&mut self, raw: &str, state: &mut State) -> String {
        let mut fields = self.fields(raw, state);
        if fields.len() > 1 {
            // One shell refuses it, another writes them all.
            self.deny("a redirection names more than one file: name one");
        }
        fields.pop().map(|field| field.text).unwrap_or_default()
    }

    fn output(&mut self, streams: &mut Streams, path: String, append: bool, state: &mut State) {
        // Another stream may lead to where this one is read.
        let is_stream = matches!(path.as_str(), "/dev/stdout" | "/dev/stderr")
            || path.starts_with("/dev/fd/")
            || (path.starts_with("/proc/") && path.contains("/fd/"));
        let is_own = path.strip_prefix("/dev/fd/").and_then(|number| number.parse().ok()) > Some(SUBSTITUTED);
        if is_stream && !is_own {
            return;
        }
        self.touch(&path, Access::Write, state);
        streams.stdout = Some(path);
        streams.append = append;
    }

    /// Hands what was printed to whoever gets it.
    fn delivered(&mut self, streams: Streams, printed: String, state: &mut State) -> String {
        let Some(path) = streams.stdout else { return printed };
        self.remember(&path, &printed, streams.append, state);
        String::new()
    }

    /// Keeps what a file that this command writes will hold.
    pub(super) fn remember(&mut self, path: &str, text: &str, append: bool, state: &mut State) {
        if path.contains([UNKNOWN, GLOB]) {
            return;
        }
        for path in state.resolve(path) {
            let mut whole = String::new();
            if append {
                whole.push_str(state.files.get(&path).map_or(&UNKNOWN.to_string(), |text| &**text));
            }
            whole.push_str(text);
            state.files.insert(path, bounded_text(whole).into());
        }
    }

    /// Returns what a file holds, if this command has written it.
    pub(super) fn content(&self, path: &str, state: &State, stdin: &str) -> String {
        if matches!(path, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" | "-") {
            return stdin.to_owned();
        }
        let files = state.resolve(path);
        let known = files.iter().find_map(|path| state.files.get(path));
        known.map_or_else(|| UNKNOWN.to_string(), |text| text.to_string())
    }

    /// Runs a process substitution. Its name stands for what it prints.
    fn process<'c>(
        &mut self,
        kind: &ProcessSubstitutionKind,
        subshell: &'c SubshellCommand,
        state: &mut State,
        readers: &mut Vec<Reader<'c>>,
    ) -> Field {
        self.streams += 1;
        let name = format!("/dev/fd/{}", SUBSTITUTED + self.streams);
        match kind {
            ProcessSubstitutionKind::Read => {
                let mut inner = state.clone();
                let printed =
                    self.deeper(|walker| walker.list(&subshell.list, &mut inner, &UNKNOWN.to_string()));
                state.files.append(&mut inner.files);
                state.files.insert(name.clone(), printed.into());
            }
            // It runs with what is written to it.
            ProcessSubstitutionKind::Write => readers.push((name.clone(), subshell)),
        }
        Field { text: name, quoted: true }
    }
}

fn input(streams: &mut Streams, descriptor: Option<i32>, text: String) {
    if matches!(descriptor, None | Some(0)) {
        streams.stdin = Some(text);
    }
}

fn with_element(list: Option<&[String]>, index: &str, value: &str) -> Vec<String> {
    let mut list = list.map(<[String]>::to_vec).unwrap_or_default();
    match index.parse::<usize>() {
        Ok(index) if index < ELEMENTS => {
            list.resize(list.len().max(index + 1), String::new());
            list[index] = value.to_owned();
            list
        }
        Ok(_) | Err(_) => vec![UNKNOWN.to_string()],
    }
}

fn appended(old: Option<&[String]>, value: Vec<String>, is_list: bool) -> Vec<String> {
    let mut list = old.map(<[String]>::to_vec).unwrap_or_default();
    if is_list {
        list.extend(value);
    } else {
        let unknown = UNKNOWN.to_string();
        let first = list.first().unwrap_or(&unknown);
        list = vec![format!("{first}{}", value.concat())];
    }
    list
}
