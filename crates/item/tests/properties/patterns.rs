//! Patterns against another implementation of regular expressions.

use super::cases;
use proptest::prelude::*;
use regex_automata::meta::Regex;
use singlet_item::key::Pattern;

fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["a", "b", "[ab]", "[^a]", "#", "ab", "é", "(?i)b", "."]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..3).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            (
                inner,
                prop::sample::select(vec!["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}"])
            )
                .prop_map(|(inner, times)| format!("(?:{inner}){times}")),
        ]
    })
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn patterns_match_what_regular_expressions_match_whole(pattern in pattern(), texts in prop::collection::vec("[abBé#]{0,5}", 8)) {
        let ours = Pattern::new(&pattern).unwrap();
        let reference = Regex::new(&format!(r"\A(?:{pattern})\z")).unwrap();
        for text in texts {
            prop_assert_eq!(ours.matches_whole(&text), reference.is_match(&text), "/{}/ {:?}", pattern, text);
        }
    }
}
