//! The lists in `docs/plan.md` of what takes more than the least, and why. `SINGLET_UPDATE=1` writes their figures anew; a reason is written
//! by hand.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// What stands where nobody has said why yet.
const NO_REASON: &str = "?";

/// A list: an operation, its figures, and why.
type List = BTreeMap<String, (Vec<String>, String)>;

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan.md")
}

/// Holds what was found against the list of that name.
pub fn check(name: &str, found: &BTreeMap<String, Vec<String>>) {
    let text = std::fs::read_to_string(page()).unwrap();
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = text
        .split_once(&begin)
        .unwrap_or_else(|| panic!("docs/plan.md has no {begin}"));
    let (list, after) = rest
        .split_once(&end)
        .unwrap_or_else(|| panic!("docs/plan.md has no {end}"));
    let known = parsed(list);
    if std::env::var("SINGLET_UPDATE").is_ok() {
        let head: String = list.lines().take(2).map(|line| format!("{line}\n")).collect();
        let lines = found.iter().map(|(operation, figures)| {
            let why = known.get(operation).map_or(NO_REASON, |(_, why)| why);
            format!("| `{operation}` | {} | {why} |\n", figures.join(" | "))
        });
        let list: String = std::iter::once(head).chain(lines).collect();
        std::fs::write(page(), format!("{before}{begin}{list}{end}{after}")).unwrap();
        return;
    }
    let figures: BTreeMap<String, Vec<String>> = known
        .iter()
        .map(|(operation, (figures, _))| (operation.clone(), figures.clone()))
        .collect();
    assert_eq!(
        found, &figures,
        "docs/plan.md lists another; SINGLET_UPDATE=1 writes the figures"
    );
    let unsaid = known.iter().filter(|(_, (_, why))| why.is_empty() || why == NO_REASON);
    let unsaid: Vec<&String> = unsaid.map(|(operation, _)| operation).collect();
    assert!(unsaid.is_empty(), "docs/plan.md does not say why: {unsaid:?}");
}

fn parsed(list: &str) -> List {
    let lines = list.lines().filter(|line| line.starts_with("| `"));
    let rows = lines.filter_map(|line| {
        let mut cells = line
            .trim()
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned());
        let operation = cells.next()?.trim_matches('`').to_owned();
        let mut cells: Vec<String> = cells.collect();
        let why = cells.pop()?;
        Some((operation, (cells, why)))
    });
    rows.collect()
}
