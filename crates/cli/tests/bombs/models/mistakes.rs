//! Files that are wrong, often or in one place.

use super::keys::keys_alike;
use super::{Draw, HEAD, lines, one_entity};

pub fn same_mistake(draw: &mut Draw, bytes: usize) -> String {
    let mistake = draw.one(&[
        "a{}: strin",
        "a{}: string /(/",
        "a{}: {is: b{}}",
        "a{}: string = absent",
        "a{}: {type: int, wrong: 1}",
        "a{}: E.b",
    ]);
    let attributes = lines(bytes, |at| {
        format!("      {}\n", mistake.replace("{}", &at.to_string()))
    });
    one_entity("", &attributes, "S")
}

pub fn mistakes_on_one_line(draw: &mut Draw, bytes: usize) -> String {
    let mistake = draw.one(&["a{}: strin", "a{}: nothing{}", "\"b {}\": string"]);
    let all = lines(bytes, |at| format!("{}, ", mistake.replace("{}", &at.to_string())));
    format!("{HEAD}entities: {{E: {{attributes: {{{all} id: string}}, key: {{PK: \"{{id}}\", SK: \"S\"}}}}}}\n")
}

pub fn unknown_names(draw: &mut Draw, bytes: usize) -> String {
    let name = "n".repeat(draw.number(1, 400));
    let attributes = lines(bytes / 2, |at| format!("      {name}{at}: string\n"));
    let model = one_entity("", &attributes, "S");
    let reads = lines(bytes / 2, |at| {
        format!("  r{at}: {{find: E, where: id == \"x\" && m{name}{at} == \"y\", allow: true}}\n")
    });
    format!("{model}reads:\n{reads}")
}

pub fn many_acceptances(draw: &mut Draw, bytes: usize) -> String {
    let rule = draw.one(&["K005", "colliding-keys", "K099", "no-recovery"]);
    let accept = lines(bytes / 2, |at| {
        format!("  - {{rule: {rule}, at: E{at}, why: it is meant}}\n")
    });
    format!("{}accept:\n{accept}", keys_alike(draw, bytes / 2))
}

pub fn nested_yaml(draw: &mut Draw, bytes: usize) -> String {
    let (open, close) = [("[", "]"), ("{a: ", "}"), ("- ", "")][draw.number(0, 2)];
    let depth = bytes / (open.len() + close.len());
    format!("{HEAD}entities: {}x{}\n", open.repeat(depth), close.repeat(depth))
}

pub fn long_scalars(draw: &mut Draw, bytes: usize) -> String {
    let long = "z".repeat(bytes / 3);
    let at = draw.number(0, 4);
    let (name, ty, key) = match at {
        0 => (long.as_str(), "string", "S"),
        1 => ("a", long.as_str(), "S"),
        2 => ("a", "string", long.as_str()),
        3 => (long.as_str(), long.as_str(), long.as_str()),
        _ => (long.as_str(), "string", "{nothing}"),
    };
    let model = one_entity("", &format!("      {name}: {ty}\n"), key);
    format!(
        "{model}reads:\n  r: {{find: E, args: {{id: string}}, where: 'id == \"{long}\" && {long} == 1', allow: true}}\n"
    )
}
