//! What is rendered and parsed again is the same tree; what nobody here wrote is refused, not fallen over.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use singlet_item::Value;
use singlet_store::render::Renderer;
use singlet_store::{AttributeType, Comparison, Condition, Operand, Path, SetOperand, SetValue, Update};

use super::{RequestPlaceholders, condition, key_condition, projection, update};

/// Names that need no placeholder, that need one, and that hold what expressions are made of.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,3}",
        Just("status".to_owned()),
        Just("a.b[0]".to_owned()),
        Just("é #:(".to_owned()),
    ]
}

fn path() -> impl Strategy<Value = Path> {
    let step = prop_oneof![name().prop_map(Ok), (0usize..5).prop_map(Err)];
    (name(), prop::collection::vec(step, 0..3)).prop_map(|(name, steps)| {
        steps.into_iter().fold(Path::attribute(name), |path, step| match step {
            Ok(key) => path.key(key),
            Err(index) => path.list_element(index),
        })
    })
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-z]{0,4}".prop_map(Value::S),
        any::<i64>().prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(Value::B),
    ]
}

fn comparison() -> impl Strategy<Value = Comparison> {
    prop::sample::select(vec![
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ])
}

fn leaf() -> impl Strategy<Value = Condition> {
    prop_oneof![
        (path(), comparison(), scalar())
            .prop_map(|(path, comparison, value)| Condition::compare(path, comparison, value)),
        (path(), comparison(), scalar()).prop_map(|(path, comparison, value)| Condition::compare(
            Operand::Value(value),
            comparison,
            Operand::Size(path)
        )),
        (path(), any::<i32>(), any::<i32>()).prop_map(|(path, one, other)| Condition::Between {
            operand: Operand::Path(path),
            low: i64::from(one.min(other)).into(),
            high: i64::from(one.max(other)).into(),
        }),
        (path(), prop::collection::vec(scalar(), 1..5)).prop_map(|(path, options)| Condition::In {
            operand: Operand::Path(path),
            options: options.into_iter().map(Operand::Value).collect(),
        }),
        path().prop_map(Condition::Exists),
        path().prop_map(Condition::NotExists),
        (path(), prop::sample::select(AttributeType::ALL.to_vec()))
            .prop_map(|(path, kind)| Condition::HasType(path, kind)),
        (path(), "[a-z]{0,4}").prop_map(|(path, start)| Condition::begins_with(path, start)),
        (path(), scalar()).prop_map(|(path, part)| Condition::contains(path, part)),
        (prop::collection::vec(scalar(), 0..3), path())
            .prop_map(|(list, path)| Condition::Contains(Operand::Value(Value::L(list)), Operand::Path(path))),
    ]
}

fn tree() -> impl Strategy<Value = Condition> {
    leaf().prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::And),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::Or),
            inner.prop_map(Condition::negate),
        ]
    })
}

fn set_operand() -> impl Strategy<Value = SetOperand> {
    let leaf = prop_oneof![scalar().prop_map(SetOperand::Value), path().prop_map(SetOperand::Path)];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let list = prop::collection::vec(scalar(), 0..3).prop_map(|list| SetOperand::Value(Value::L(list)));
        prop_oneof![
            (path(), inner).prop_map(|(path, default)| SetOperand::IfNotExists(path, Box::new(default))),
            (path(), list).prop_map(|(path, list)| SetOperand::list_append(path, list)),
        ]
    })
}

fn set_value() -> impl Strategy<Value = SetValue> {
    let number = || {
        prop_oneof![
            any::<i64>().prop_map(SetOperand::from),
            path().prop_map(SetOperand::Path)
        ]
    };
    prop_oneof![
        set_operand().prop_map(SetValue::Operand),
        (number(), number()).prop_map(|(left, right)| SetValue::Plus(left, right)),
        (number(), number()).prop_map(|(left, right)| SetValue::Minus(left, right)),
    ]
}

/// An update of attributes that differ, so that no two paths overlap.
fn any_update() -> impl Strategy<Value = Update> {
    let words = prop::collection::btree_set("[a-z]{1,3}".prop_map(Value::S), 1..4);
    let set = words.prop_map(|words| {
        Value::Ss(
            words
                .iter()
                .filter_map(|word| Some(word.as_str()?.to_owned()))
                .collect(),
        )
    });
    (
        prop::collection::vec(set_value(), 0..3),
        0usize..3,
        prop::collection::vec(any::<i64>(), 0..3),
        prop::collection::vec(set, 0..3),
    )
        .prop_map(|(set, removes, add, delete)| Update {
            set: set
                .into_iter()
                .enumerate()
                .map(|(n, value)| (Path::attribute(format!("set {n}")), value))
                .collect(),
            remove: (0..removes)
                .map(|n| Path::attribute(format!("gone{n}")).list_element(n))
                .collect(),
            add: add
                .into_iter()
                .enumerate()
                .map(|(n, value)| (Path::attribute(format!("sum{n}")), value.into()))
                .collect(),
            delete: delete
                .into_iter()
                .enumerate()
                .map(|(n, value)| (Path::attribute(format!("tags{n}")), value))
                .collect(),
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_condition_that_is_rendered_parses_to_itself(condition in tree()) {
        let mut renderer = Renderer::new();
        let Ok(text) = renderer.condition_text(&condition) else { return Ok(()) };
        let known = renderer.finish();
        let placeholders = RequestPlaceholders::of(known.names, known.values);
        let parsed = condition::read_condition("ConditionExpression", &text, &placeholders);
        prop_assert_eq!(parsed.map_err(|fault| fault.message().to_owned()), Ok(condition));
        prop_assert!(placeholders.all_used().is_ok());
    }

    #[test]
    fn an_update_that_is_rendered_parses_to_itself(update in any_update()) {
        let mut renderer = Renderer::new();
        let Some(text) = renderer.update_text(&update).unwrap() else { return Ok(()) };
        let known = renderer.finish();
        let placeholders = RequestPlaceholders::of(known.names, known.values);
        let parsed = update::read_update(&text, &placeholders);
        prop_assert_eq!(parsed.map_err(|fault| fault.message().to_owned()), Ok(update));
    }

    #[test]
    fn a_projection_that_is_rendered_parses_to_itself(names in prop::collection::btree_set(name(), 1..5)) {
        let paths: Vec<Path> = names.into_iter().map(|name| Path::attribute(name).key("in").list_element(3)).collect();
        let mut renderer = Renderer::new();
        let text = renderer.projection_text(&paths).unwrap().unwrap();
        let known = renderer.finish();
        let placeholders = RequestPlaceholders::of(known.names, known.values);
        let parsed = projection::read_projection(&text, &placeholders);
        prop_assert_eq!(parsed.map_err(|fault| fault.message().to_owned()), Ok(paths));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[ -~é]{0,60}", words in prop::collection::vec(
        prop::sample::select(vec![
            "SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN", "(", ")", ",", ".", "[", "]", "=",
            "<>", "<", "+", "-", "#n", ":v", "a", "7", "size", "contains", "begins_with", "if_not_exists",
            "list_append", "attribute_type", "attribute_exists",
        ]), 0..40,
    )) {
        let placeholders = RequestPlaceholders::of(
            BTreeMap::from([("#n".to_owned(), "n".to_owned())]),
            BTreeMap::from([(":v".to_owned(), Value::from(1))]),
        );
        for text in [text, words.join(" ")] {
            let _ = condition::read_condition("FilterExpression", &text, &placeholders);
            let _ = key_condition::read_key_condition(&text, &placeholders);
            let _ = update::read_update(&text, &placeholders);
            let _ = projection::read_projection(&text, &placeholders);
        }
    }
}

fn refused(text: &str) -> String {
    let values = BTreeMap::from([
        (":n".to_owned(), Value::from(1)),
        (":m".to_owned(), Value::from(2)),
        (":s".to_owned(), Value::from("x")),
        (":t".to_owned(), Value::from("S")),
        (":b".to_owned(), Value::Bool(true)),
        (":l".to_owned(), Value::L(Vec::new())),
    ]);
    let placeholders = RequestPlaceholders::of(BTreeMap::new(), values);
    let fault = match text.split(' ').next() {
        Some("SET" | "ADD" | "DELETE" | "REMOVE") => update::read_update(text, &placeholders).err(),
        _ => condition::read_condition("ConditionExpression", text, &placeholders).err(),
    };
    fault.map(|fault| fault.message().to_owned()).unwrap_or_default()
}

#[test]
fn wrong_operands_are_named() {
    let cases = [
        (
            "attribute_exists(:n)",
            "requires a document path; operator or function: attribute_exists",
        ),
        ("attribute_exists(a, b)", "number of operands: 2"),
        ("begins_with(a)", "number of operands: 1"),
        (
            "begins_with(a, :n)",
            "operator or function: begins_with, operand type: N",
        ),
        ("a < :b", "operator or function: <, operand type: BOOL"),
        ("a = a", "first operand must be distinct"),
        ("a BETWEEN :m AND :n", "requires upper bound to be greater"),
        ("a BETWEEN :n AND :s", "requires same data type"),
        ("attribute_type(a, :s)", "Invalid attribute type name found; type: x"),
        (
            "size(size(a)) = :n",
            "not allowed to be used this way in an expression; function: size",
        ),
        ("attribute_exists(a) = :n", "Syntax error; token: \"=\""),
        ("unknown(a)", "Invalid function name; function: unknown"),
        ("a = :missing", "is not defined; attribute value: :missing"),
        ("#x = :n", "is not defined; attribute name: #x"),
        ("status = :n", "reserved keyword; reserved keyword: status"),
        ("((a = :n))", "redundant parentheses"),
        ("_a = :n", "token: \"_\""),
        ("SET a = :n, a.b = :n", "Two document paths overlap"),
        ("SET a.b = :n REMOVE a[0]", "Two document paths conflict"),
        ("SET a = :n SET b = :n", "The \"SET\" section can only be used once"),
        ("SET a = :s + b", "operator or function: +, operand type: S"),
        (
            "SET a = list_append(a, :n)",
            "operator or function: list_append, operand type: N",
        ),
        (
            "SET a = if_not_exists(:n, :n)",
            "requires a document path; operator or function: if_not_exists",
        ),
        ("SET a = size(a)", "not allowed in an update expression; function: size"),
        ("ADD a :s", "operator: ADD, operand type: STRING"),
        ("DELETE a :n", "operator: DELETE, operand type: NUMBER"),
    ];
    for (text, words) in cases {
        assert!(refused(text).contains(words), "{text}: {}", refused(text));
    }
    for text in [
        "attribute_type(a, :t)",
        "contains(:l, a)",
        "size(:s) = :n",
        "SET a = (b)",
        "NOT a = :n",
    ] {
        assert_eq!(refused(text), "", "{text}");
    }
}

#[test]
fn bounds_hold_at_their_ends() {
    let joined = |count: usize| vec!["a = :n"; count].join(" AND ");
    // 150 comparisons and 149 conjunctions, and one of each more.
    assert_eq!(refused(&joined(150)), "");
    assert!(refused(&joined(151)).contains("more operators than allowed; operator count: 301"));
    let long = |bytes: usize| format!("{} = :n", "a".repeat(bytes - 5));
    assert_eq!(refused(&long(4096)), "");
    assert!(refused(&long(4097)).contains("Expression size has exceeded"));
    let options = |count: usize| format!("a IN ({})", vec![":n"; count].join(","));
    assert_eq!(refused(&options(100)), "");
    assert!(refused(&options(101)).contains("number of operands: 101"));
    let nested = |count: usize| format!("{}a = :n{}", "NOT (".repeat(count), ")".repeat(count));
    assert_eq!(refused(&nested(40)), "");
    assert!(refused(&nested(600)).contains("nested more than"));
}
