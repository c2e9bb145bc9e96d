//! Modules of the service form an order: each imports only what is below it, and files of one folder import each other in one direction. This
//! reads the imports from the source text. Code of tests may look anywhere.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// From the lowest up.
const ORDER: [&str; 25] = [
    "text", "metrics", "schema", "logs", "store", "error", "config", "limits", "auth", "accounts", "cache", "history",
    "meter", "webhooks", "app", "fleet", "web", "docs", "rest", "openapi", "mcp", "pages", "router", "cli", "fuzzing",
];

/// The crate's own root: it declares the modules and starts the program.
const ROOTS: [&str; 2] = ["lib.rs", "main.rs"];

#[test]
fn every_module_imports_only_what_is_below_it() {
    let mut files = Vec::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut files);
    assert!(files.len() > 100, "the sources are read");
    let modules: BTreeSet<String> = files.iter().filter_map(|(path, _)| module(path).into_iter().next()).collect();
    assert_eq!(modules, ORDER.map(str::to_owned).into(), "every module has a place in the order");
    assert_eq!(faults(&files, &ORDER), Vec::<String>::new());
}

#[test]
fn an_import_upwards_is_found_however_it_is_written() {
    let order = ["store", "app", "web"];
    let written = [
        "use crate::web::Web;",
        "use crate::{app, web};",
        "use crate::{app::App, web::{self, Web}};",
        "use super::web::Web;",
        "use super::{app, web};",
        "fn f() { crate::web::f() }",
        "pub(crate) use crate::web::Web;",
    ];
    for text in written {
        let found = faults(&[file("store.rs", text), file("app.rs", ""), file("web.rs", "")], &order);
        assert!(found.iter().any(|fault| fault == "store.rs imports web, which is above it"), "{text}: {found:?}");
    }
    let deeper = [file("store/sqlite.rs", "use super::super::web::Web;"), file("store.rs", ""), file("web.rs", "")];
    assert_eq!(faults(&deeper, &order), ["store/sqlite.rs imports web, which is above it"]);
    let allowed = [
        file(
            "store.rs",
            "// use crate::web::Web;\nconst A: &str = \"crate::web\";\n#[cfg(test)]\nmod tests { use crate::web::Web; }",
        ),
        file("app.rs", "use crate::store::Store;"),
        file("web.rs", "use super::app::App;"),
        file("web/tests.rs", "use crate::app::App;"),
    ];
    assert_eq!(faults(&allowed, &order), Vec::<String>::new());
}

#[test]
fn a_circle_of_neighbours_is_found() {
    let files = [
        file("web.rs", "use a::A;"),
        file("web/a.rs", "use super::b::B;"),
        file("web/b.rs", "use super::{Web, c::d::D};"),
        file("web/c.rs", ""),
        file("web/c/d.rs", "use crate::web::a::A;"),
        file("web/e.rs", "use super::a::A;"),
    ];
    assert_eq!(faults(&files, &["web"]), ["circle in web: a, b, c"]);
}

fn file(path: &str, text: &str) -> (String, String) {
    (path.to_owned(), text.to_owned())
}

fn read(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap().to_owned();
        if path.is_dir() {
            read(&path, &format!("{prefix}{name}/"), files);
        } else if name.ends_with(".rs") && !(prefix.is_empty() && ROOTS.contains(&name.as_str())) {
            files.push((format!("{prefix}{name}"), fs::read_to_string(&path).unwrap()));
        }
    }
}

/// `store/sqlite.rs` is the module `store::sqlite`.
fn module(path: &str) -> Vec<String> {
    path.trim_end_matches(".rs").split('/').map(str::to_owned).collect()
}

fn faults(files: &[(String, String)], order: &[&str]) -> Vec<String> {
    let modules: BTreeSet<Vec<String>> = files.iter().map(|(path, _)| module(path)).collect();
    let mut faults = BTreeSet::new();
    // By folder: which of its members import which.
    let mut arrows: BTreeMap<Vec<String>, BTreeSet<(String, String)>> = BTreeMap::new();
    for (path, text) in files.iter().filter(|(path, _)| !path.ends_with("tests.rs")) {
        let from = module(path);
        for to in imports(&from, text).iter().filter_map(|to| known(&modules, to)) {
            let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
            // A parent and what is inside of it are one unit.
            let (Some(one), Some(other)) = (from.get(shared), to.get(shared)) else { continue };
            if shared > 0 {
                let folder = from.iter().take(shared).cloned().collect();
                arrows.entry(folder).or_default().insert((one.clone(), other.clone()));
            } else if rank(order, other) >= rank(order, one) {
                faults.insert(format!("{path} imports {other}, which is above it"));
            }
        }
    }
    for (folder, arrows) in arrows {
        let circle = circle(arrows);
        if !circle.is_empty() {
            let members: Vec<String> = circle.into_iter().collect();
            faults.insert(format!("circle in {}: {}", folder.join("::"), members.join(", ")));
        }
    }
    faults.into_iter().collect()
}

fn rank(order: &[&str], module: &str) -> usize {
    order.iter().position(|name| *name == module).unwrap_or_else(|| panic!("{module} has no place in the order"))
}

/// The module that a path leads into: its longest beginning that is one.
fn known(modules: &BTreeSet<Vec<String>>, path: &[String]) -> Option<Vec<String>> {
    (1..=path.len())
        .rev()
        .filter_map(|length| path.get(..length))
        .find(|part| modules.contains(*part))
        .map(<[_]>::to_vec)
}

/// What is left when whoever imports nothing that is left, or is imported by nobody who is left, is taken away.
fn circle(mut arrows: BTreeSet<(String, String)>) -> BTreeSet<String> {
    loop {
        let before = arrows.len();
        let from: BTreeSet<String> = arrows.iter().map(|(from, _)| from.clone()).collect();
        let to: BTreeSet<String> = arrows.iter().map(|(_, to)| to.clone()).collect();
        arrows.retain(|(one, other)| from.contains(other) && to.contains(one));
        if arrows.len() == before {
            return arrows.into_iter().map(|(from, _)| from).collect();
        }
    }
}

/// Every path of the text that begins with `crate` or `super`, from the root of the crate.
fn imports(from: &[String], text: &str) -> Vec<Vec<String>> {
    let tokens = tokens(&code(text));
    let mut paths = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_start = at == 0 || tokens.get(at - 1).is_none_or(|before| before != "::");
        if is_start && (token == "crate" || token == "super") {
            walk(&tokens, at, &[], &mut paths);
        }
    }
    let resolve = |path: Vec<String>| {
        let ups = path.iter().take_while(|part| *part == "super").count();
        let base = if ups == 0 { &[] } else { from.get(..from.len().saturating_sub(ups)).unwrap_or_default() };
        base.iter()
            .cloned()
            .chain(path.into_iter().filter(|part| !["crate", "super", "self"].contains(&part.as_str())))
            .collect()
    };
    paths.into_iter().map(resolve).collect()
}

/// Follows a path and, where it branches in braces, all of its branches; gives the place behind it.
fn walk(tokens: &[String], mut at: usize, before: &[String], paths: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    while let Some(token) = tokens.get(at) {
        if token == "{" {
            at += 1;
            while tokens.get(at).is_some_and(|token| token != "}") {
                at = if tokens.get(at).is_some_and(|token| token == ",") {
                    at + 1
                } else {
                    walk(tokens, at, &path, paths)
                };
            }
            return at + 1;
        }
        path.push(token.clone());
        at += 1;
        // `as` gives another name to what the path leads to.
        while tokens.get(at).is_some_and(|token| token == "as") {
            at += 2;
        }
        if tokens.get(at).is_none_or(|token| token != "::") {
            break;
        }
        at += 1;
    }
    paths.push(path);
    at
}

/// Names, `::`, and the other characters one by one.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        if !first.is_whitespace() {
            tokens.push(token.to_owned());
        }
        rest = after;
    }
    tokens
}

/// Without comments, strings, and the tests at the end of a file.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"']) {
        let (plain, found) = rest.split_at(at);
        code.push_str(plain);
        let end = if found.starts_with("//") {
            found.find('\n').unwrap_or(found.len())
        } else if found.starts_with('"') && !plain.ends_with('\'') {
            string_end(found)
        } else {
            code.push('/');
            1
        };
        rest = found.get(end..).unwrap_or_default();
    }
    code + rest
}

/// Behind the quote that ends a string, which one after a backslash does not.
fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !is_escaped => return at + 1,
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}
