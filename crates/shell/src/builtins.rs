//! What the shell does itself: printing, variables, directories, and running text.

use super::{
    braces::decode_ansi,
    call::Call,
    parse::UNKNOWN,
    state::{Certainty, State},
    walk::Walker,
    word::{Field, name_length},
};

impl Walker<'_> {
    /// Judges a builtin; `None` if it is not one.
    pub(super) fn builtin(&mut self, call: &Call<'_>, state: &mut State) -> Option<String> {
        let arguments = call.arguments;
        let nothing = Some(String::new());
        let unknown = Some(UNKNOWN.to_string());
        // These list what they know if they are given nothing else to do.
        let lists = arguments.is_empty() || arguments.iter().any(|field| field.text.starts_with("-p"));
        match call.program {
            ":" | "true" | "false" | "exit" | "return" | "break" | "continue" | "wait" | "disown"
            | "sleep" | "unalias" | "suspend" | "logout" => nothing,
            "getopts" => {
                arguments.iter().skip(1).take(1).for_each(|field| state.forget(&field.text));
                nothing
            }
            "jobs" if arguments.first().is_some_and(|field| field.text.starts_with("-x")) => {
                Some(self.call(&arguments[1..], state, call.stdin))
            }
            "jobs" | "bg" | "fg" | "umask" | "ulimit" | "shopt" | "times" | "setopt" | "unsetopt" => unknown,
            "echo" => Some(echo(arguments)),
            "printf" => Some(self.printf(arguments, state)),
            "pwd" => Some(state.text("PWD")),
            "which" | "type" | "whence" => {
                Some(arguments.last().map_or_else(String::new, |last| last.text.clone()))
            }
            "cd" | "chdir" | "pushd" => {
                let target = arguments.iter().find(|field| !field.text.starts_with('-') || field.text == "-");
                match target.map(|field| field.text.as_str()) {
                    Some("-") => state.lose_directory(),
                    Some(directory) if self.surely_goes(directory, state) => {
                        state.change_directory_surely(directory);
                    }
                    Some(directory) => state.change_directory(directory),
                    None => state.change_directory(&state.text("HOME")),
                }
                nothing
            }
            "popd" => {
                state.lose_directory();
                nothing
            }
            "eval" => Some(self.run(&joined(arguments), state, call.stdin)),
            "source" | "." => Some(self.source(arguments, state, call.stdin)),
            "trap" => {
                // A dash in place of the text takes back what was set.
                let text = arguments.iter().find(|field| field.text == "-" || !field.text.starts_with('-'));
                let text = text.filter(|field| field.text != "-");
                let text = text.map(|field| field.text.clone()).unwrap_or_default();
                self.perhaps(|walker| walker.run(&text, &mut state.clone(), call.stdin));
                if lists { unknown } else { nothing }
            }
            "alias" => {
                self.alias(arguments, state);
                if arguments.iter().all(|field| field.text.contains('=')) && !lists {
                    nothing
                } else {
                    unknown
                }
            }
            "set" => {
                self.set(arguments, state);
                if lists { unknown } else { nothing }
            }
            "shift" => {
                let count = arguments.first().map_or(Some(1), |count| count.text.parse::<usize>().ok());
                state.positional = match (state.positional.take(), count) {
                    (Some(list), Some(count)) => Some(list.into_iter().skip(count).collect()),
                    _ => None,
                };
                nothing
            }
            "export" | "declare" | "typeset" | "local" | "readonly" | "integer" | "float" => {
                self.declare(arguments, state);
                self.exports(call, state);
                if lists { unknown } else { nothing }
            }
            "unset" => {
                self.subscripts(arguments, state);
                for name in arguments {
                    match self.certainty {
                        Certainty::Sure => state.restore(&name.text, None),
                        Certainty::Perhaps => state.forget(&name.text),
                    }
                }
                nothing
            }
            "read" => {
                self.read_variables(arguments, state, call.stdin);
                nothing
            }
            "mapfile" | "readarray" => {
                self.risky("it reads lines into a list that is only known once it runs");
                arguments.iter().for_each(|field| state.forget(&field.text));
                // `-C` names a command that is run for the lines.
                arguments.iter().for_each(|field| self.callback(&field.text, state));
                nothing
            }
            "let" => {
                arguments.iter().for_each(|field| _ = self.arithmetic(&field.text, state));
                nothing
            }
            "test" | "[" => {
                self.subscripts(arguments, state);
                nothing
            }
            "hash" => {
                if let [option, path, name, ..] = arguments
                    && option.text == "-p"
                {
                    state.aliases.insert(name.text.clone(), path.text.clone());
                }
                unknown
            }
            "fc" | "history" | "enable" | "bind" | "complete" | "compgen" | "zmodload" | "autoload"
            | "caller" => {
                self.risky(format!("`{}` may run what is not written here", call.program));
                arguments.iter().for_each(|field| self.callback(&field.text, state));
                unknown
            }
            _ => None,
        }
    }

    /// Judges a text that is run later, if it is one.
    fn callback(&mut self, text: &str, state: &State) {
        if text.contains(' ') {
            self.perhaps(|walker| walker.run(text, &mut state.clone(), &UNKNOWN.to_string()));
        }
    }

    fn printf(&mut self, arguments: &[Field], state: &mut State) -> String {
        let (name, rest) = match arguments {
            [option, name, rest @ ..] if option.text == "-v" => (Some(&name.text), rest),
            [dashes, rest @ ..] if dashes.text == "--" => (None, rest),
            _ => (None, arguments),
        };
        let text = match rest.split_first() {
            Some((format, values)) => formatted(&format.text, values),
            None => String::new(),
        };
        match name {
            Some(name) => {
                self.hidden_substitutions(name, state);
                self.set_variable(name, vec![text], state);
                String::new()
            }
            None => text,
        }
    }

    fn source(&mut self, arguments: &[Field], state: &mut State, stdin: &str) -> String {
        let Some((file, rest)) = arguments.split_first() else { return String::new() };
        let text = self.content(&file.text, state, stdin);
        if text.contains(UNKNOWN) {
            self.risky(format!("`{}` is read as commands", super::guard::readable(&file.text)));
        }
        if !rest.is_empty() {
            state.positional = Some(rest.iter().map(|field| field.text.clone()).collect());
        }
        self.run(&text, state, stdin)
    }

    fn alias(&mut self, arguments: &[Field], state: &mut State) {
        for (name, value) in arguments.iter().filter_map(|field| field.text.split_once('=')) {
            if value.contains('\n') {
                // What follows its first line may be read as the command's own lines.
                self.deny("an alias of more than one line is not read alike by every shell: use a function");
            }
            self.perhaps(|walker| walker.run(value, &mut state.clone(), &UNKNOWN.to_string()));
            state.aliases.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Whether a change of directory succeeds, or nothing follows it.
    fn surely_goes(&self, directory: &str, state: &State) -> bool {
        state.is_there(directory) || (state.ends_at_errors && self.is_at_top())
    }

    /// `set -e`; in a part of a longer command it may be without effect.
    fn set_errors(&self, arguments: &[Field], state: &mut State) {
        let texts: Vec<&str> = arguments.iter().map(|field| field.text.as_str()).collect();
        let named = |sign: &str| texts.windows(2).any(|pair| pair[0] == sign && pair[1] == "errexit");
        let cluster = |sign: char| texts.iter().any(|text| text.starts_with(sign) && text.contains('e'));
        if cluster('+') || named("+o") {
            state.ends_at_errors = false;
        } else if (cluster('-') || named("-o")) && self.is_at_top() && self.certainty == Certainty::Sure {
            state.ends_at_errors = true;
        }
    }

    /// `set -- a b` and `set a b` replace the arguments; options alone do not.
    fn set(&mut self, arguments: &[Field], state: &mut State) {
        self.set_errors(arguments, state);
        let texts = |fields: &[Field]| fields.iter().map(|field| field.text.clone()).collect::<Vec<_>>();
        let mut rest = arguments;
        while let [option, tail @ ..] = rest {
            match option.text.as_str() {
                "--" | "-" => {
                    state.positional = Some(texts(tail));
                    return;
                }
                "-o" | "+o" => rest = tail.get(1..).unwrap_or_default(),
                "-k" => {
                    self.risky("`set -k` changes how arguments are read");
                    rest = tail;
                }
                text if text.starts_with('-') && text.contains('a') => {
                    self.risky("`set -a` gives every variable to programs");
                    rest = tail;
                }
                text if text.starts_with(['-', '+']) => rest = tail,
                _ => {
                    state.positional = Some(texts(rest));
                    return;
                }
            }
        }
    }

    fn declare(&mut self, arguments: &[Field], state: &mut State) {
        self.subscripts(arguments, state);
        let is_reference = |field: &Field| {
            field.text.starts_with('-') && field.text.contains('n') && !field.text.contains('=')
        };
        let refers = arguments.iter().any(is_reference);
        for (name, value) in arguments.iter().filter_map(|field| field.text.split_once('=')) {
            if refers {
                // The name stands for another variable, whatever that will be.
                state.forget(name);
            } else if name_length(name) == name.len() {
                self.set_variable(name, vec![value.to_owned()], state);
            }
        }
    }

    /// Notes which variables programs are given from now on.
    fn exports(&mut self, call: &Call<'_>, state: &mut State) {
        let option = |letter: char| {
            let has = |field: &Field| field.text.starts_with('-') && field.text.contains(letter);
            call.arguments.iter().any(has)
        };
        if call.program != "export" && !option('x') {
            return;
        }
        for field in call.arguments.iter().filter(|field| !field.text.starts_with('-')) {
            let name = field.text.split_once('=').map_or(field.text.as_str(), |(name, _)| name);
            self.exported(name, state);
            if self.certainty == Certainty::Sure && !option('n') {
                state.exported.insert(name.to_owned());
            } else {
                state.exported.remove(name);
            }
        }
    }

    /// A name such as `a[$(…)]` runs what is in its brackets.
    fn subscripts(&mut self, arguments: &[Field], state: &mut State) {
        for field in arguments.iter().filter(|field| field.text.contains('[')) {
            self.hidden_substitutions(&field.text, state);
        }
    }

    fn read_variables(&mut self, arguments: &[Field], state: &mut State, stdin: &str) {
        self.subscripts(arguments, state);
        let names: Vec<&str> = names_to_read(arguments);
        let mut lines = stdin.lines();
        let line = match (lines.next(), lines.next()) {
            (Some(line), None) if !line.contains([UNKNOWN, '\\']) => Some(line),
            _ => None,
        };
        let mut rest = line.unwrap_or_default().trim();
        for (index, name) in names.iter().enumerate() {
            let (first, tail) = match rest.split_once(char::is_whitespace) {
                Some((first, tail)) if index + 1 < names.len() => (first, tail.trim_start()),
                Some(_) | None => (rest, ""),
            };
            match line {
                Some(_) => self.set_variable(name, vec![first.to_owned()], state),
                None => state.forget(name),
            }
            rest = tail;
        }
    }
}

fn names_to_read(arguments: &[Field]) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = arguments.iter();
    while let Some(field) = rest.next() {
        match field.text.strip_prefix('-') {
            Some(option) if option.ends_with(['a', 'd', 'i', 'n', 'N', 'p', 't', 'u']) => {
                let value = rest.next();
                names.extend(value.filter(|_| option.ends_with('a')).map(|field| field.text.as_str()));
            }
            Some(_) => {}
            None => names.push(field.text.as_str()),
        }
    }
    if names.is_empty() { vec!["REPLY"] } else { names }
}

pub(super) fn joined(fields: &[Field]) -> String {
    let texts: Vec<&str> = fields.iter().map(|field| field.text.as_str()).collect();
    texts.join(" ")
}

fn echo(arguments: &[Field]) -> String {
    let is_option = |field: &&Field| {
        field
            .text
            .strip_prefix('-')
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b"neE".contains(&b)))
    };
    let count = arguments.iter().take_while(is_option).count();
    let has = |letter: char| arguments[..count].iter().any(|field| field.text.contains(letter));
    let text = joined(&arguments[count..]);
    let mut text = match (text.contains('\\'), has('e')) {
        (false, _) => text,
        (true, true) => decode_ansi(&text.replace("\\0", "\\")),
        // Some shells decode escapes without being asked to.
        (true, false) if decode_ansi(&text.replace("\\0", "\\")) != text => UNKNOWN.to_string(),
        (true, false) => text,
    };
    if !has('n') {
        text.push('\n');
    }
    text
}

/// Formats as `printf` does; unknown if the format is out of the ordinary.
fn formatted(format: &str, values: &[Field]) -> String {
    let mut text = String::new();
    let mut values = values.iter().map(|field| field.text.as_str());
    loop {
        let before = values.len();
        let mut parts = format.split('%');
        text.push_str(&decode_ansi(parts.next().unwrap_or_default()));
        while let Some(part) = parts.next() {
            let Some(directive) = part.chars().next() else {
                // Two percent signs in a row: what follows the second is plain text.
                text.push('%');
                text.push_str(&decode_ansi(parts.next().unwrap_or_default()));
                continue;
            };
            match directive {
                's' | 'd' | 'i' | 'q' => text.push_str(values.next().unwrap_or_default()),
                'b' => text.push_str(&decode_ansi(&values.next().unwrap_or_default().replace("\\0", "\\"))),
                _ => return UNKNOWN.to_string(),
            }
            text.push_str(&decode_ansi(&part[1..]));
        }
        if values.len() == 0 || values.len() == before {
            return text;
        }
    }
}
