//! Problems as one JSON object, for `--json`.

use super::escape::push_json_string;
use super::problem::{Code, Problem, Problems};
use crate::place::LineColumn;

impl Problems {
    /// `{"errors":[…]}`, and `"warnings"` where there are any.
    pub fn to_json(&self) -> String {
        let (errors, warnings): (Vec<_>, Vec<_>) = self.list.iter().partition(|p| p.is_error());
        let mut out = String::from("{\"errors\":");
        push_list(&mut out, &errors, &self.file);
        if !warnings.is_empty() {
            out.push_str(",\"warnings\":");
            push_list(&mut out, &warnings, &self.file);
        }
        out.push('}');
        out
    }
}

fn push_list(out: &mut String, problems: &[&Problem], file: &str) {
    out.push('[');
    for (index, problem) in problems.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_problem(out, problem, file);
    }
    out.push(']');
}

fn push_problem(out: &mut String, problem: &Problem, file: &str) {
    let location = problem.path.strip_prefix("$.").filter(|_| problem.variable.is_some());
    let texts = [
        ("code", problem.code().map(Code::as_str)),
        ("path", Some(problem.path.as_str())),
        ("message", Some(problem.message.as_str())),
        ("help", problem.help.as_deref()),
        ("variable", problem.variable.as_deref()),
        ("location", location),
        ("file", Some(file)),
    ];
    let mut separator = '{';
    for (name, text) in texts {
        let Some(text) = text else { continue };
        out.push(separator);
        separator = ',';
        push_json_string(out, name);
        out.push(':');
        push_json_string(out, text);
    }
    if let Some(LineColumn { line, column }) = problem.place {
        out.push_str(&format!(",\"line\":{line},\"column\":{column}"));
    }
    out.push('}');
}
