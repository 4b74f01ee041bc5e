//! The grammar is CEL's: whatever is drawn, the `cel` crate groups it as it is grouped here.

use cel::common::ast::{self, EntryExpr, IdedExpr, LiteralValue, operators};
use proptest::prelude::*;

use super::*;
use crate::expression::parse::{ExpressionNode, NodeKind, parse_expression};

/// What holds what, as it is read here.
fn read_here(node: &ExpressionNode) -> String {
    let each = |nodes: &[ExpressionNode]| {
        nodes
            .iter()
            .map(|node| " ".to_owned() + &read_here(node))
            .collect::<String>()
    };
    let fields = |fields: &[crate::expression::parse::FieldNode]| {
        let shown = fields
            .iter()
            .map(|field| format!(" {}: {}", field.field, read_here(&field.value)));
        shown.collect::<String>()
    };
    match &node.kind {
        NodeKind::Bool(value) => value.to_string(),
        NodeKind::Number { value, .. } => value.to_string(),
        NodeKind::Text(text) => format!("{text:?}"),
        NodeKind::Null => "null".to_owned(),
        NodeKind::Name(name) => name.clone(),
        NodeKind::Field(of, name) => format!("({}.{name})", read_here(of)),
        NodeKind::Index(of, index) => format!("({}[{}])", read_here(of), read_here(index)),
        NodeKind::Not(inner) => format!("(! {})", read_here(inner)),
        NodeKind::Negate(inner) => format!("(- {})", read_here(inner)),
        NodeKind::Binary(op, left, right) => format!("({op:?} {} {})", read_here(left), read_here(right)),
        NodeKind::Conditional(test, then, otherwise) => {
            format!("(? {} {} {})", read_here(test), read_here(then), read_here(otherwise))
        }
        NodeKind::List(elements) => format!("[{}]", each(elements)),
        NodeKind::Record(entries) => format!("{{{}}}", fields(entries)),
        NodeKind::Key { entity, fields: parts } => format!("{entity}{{{}}}", fields(parts)),
        NodeKind::Call { name, receiver, args } => {
            let receiver = receiver.as_ref().map(|receiver| read_here(receiver) + ".");
            format!("({}{name}{})", receiver.unwrap_or_default(), each(args))
        }
    }
}

/// What holds what, as `cel` reads it.
fn read_by_cel(tree: &IdedExpr) -> String {
    let each = |trees: &[IdedExpr]| {
        trees
            .iter()
            .map(|tree| " ".to_owned() + &read_by_cel(tree))
            .collect::<String>()
    };
    let fields = |entries: &[ast::IdedEntryExpr]| {
        let shown = entries.iter().map(|entry| match &entry.expr {
            EntryExpr::StructField(field) => format!(" {}: {}", field.field, read_by_cel(&field.value)),
            EntryExpr::MapEntry(entry) => {
                let key = read_by_cel(&entry.key);
                format!(" {}: {}", key.trim_matches('"'), read_by_cel(&entry.value))
            }
        });
        shown.collect::<String>()
    };
    match &tree.expr {
        ast::Expr::Literal(LiteralValue::Boolean(value)) => value.inner().to_string(),
        ast::Expr::Literal(LiteralValue::Int(value)) => value.inner().to_string(),
        ast::Expr::Literal(LiteralValue::String(text)) => format!("{:?}", text.inner()),
        ast::Expr::Literal(LiteralValue::Null) => "null".to_owned(),
        ast::Expr::Ident(name) => name.clone(),
        ast::Expr::Select(select) => format!("({}.{})", read_by_cel(&select.operand), select.field),
        ast::Expr::List(list) => format!("[{}]", each(&list.elements)),
        ast::Expr::Map(map) => format!("{{{}}}", fields(&map.entries)),
        ast::Expr::Struct(key) => format!("{}{{{}}}", key.type_name, fields(&key.entries)),
        ast::Expr::Call(call) => {
            let args: Vec<String> = call.args.iter().map(read_by_cel).collect();
            match (call.func_name.as_str(), args.as_slice()) {
                (operators::LOGICAL_NOT, [inner]) => format!("(! {inner})"),
                (operators::NEGATE, [inner]) => format!("(- {inner})"),
                (operators::CONDITIONAL, [test, then, otherwise]) => format!("(? {test} {then} {otherwise})"),
                (operators::INDEX, [of, index]) => format!("({of}[{index}])"),
                (name, [left, right]) if call.target.is_none() && operator(name).is_some() => {
                    format!("({:?} {left} {right})", operator(name).unwrap())
                }
                (name, _) => {
                    let receiver = call.target.as_ref().map(|target| read_by_cel(target) + ".");
                    format!("({}{name}{})", receiver.unwrap_or_default(), each(&call.args))
                }
            }
        }
        other => panic!("{other:?}"),
    }
}

fn operator(name: &str) -> Option<BinaryOp> {
    Some(match name {
        operators::LOGICAL_AND => BinaryOp::And,
        operators::LOGICAL_OR => BinaryOp::Or,
        operators::EQUALS => BinaryOp::Eq,
        operators::NOT_EQUALS => BinaryOp::Ne,
        operators::LESS => BinaryOp::Lt,
        operators::LESS_EQUALS => BinaryOp::Le,
        operators::GREATER => BinaryOp::Gt,
        operators::GREATER_EQUALS => BinaryOp::Ge,
        operators::IN => BinaryOp::In,
        operators::ADD => BinaryOp::Add,
        operators::SUBSTRACT => BinaryOp::Sub,
        operators::MULTIPLY => BinaryOp::Mul,
        operators::DIVIDE => BinaryOp::Div,
        operators::MODULO => BinaryOp::Rem,
        _ => return None,
    })
}

/// Whether it is an expression of the language; if so, `cel` reads the same.
fn is_read_as_by_cel(source: &str) -> bool {
    let Ok(node) = parse_expression(&text(source)) else {
        return false;
    };
    // Without the standard macros, `rows.exists(e, …)` is a call.
    let parser = cel::Env::default().with_optional_support(false).parser();
    let (tree, _) = parser.parse_with_source_info(source).unwrap();
    assert_eq!(read_here(&node), read_by_cel(&tree), "{source}");
    true
}

/// Expressions, and what is nearly one.
fn drawn_expression() -> impl Strategy<Value = String> {
    let leaves = vec![
        "a", "b", "1", "-1", "- 2", "true", "null", "'x'", "\"y\\n\"", "[]", "{}", "f()", "A{}", "row",
    ];
    let operators = vec![
        "&&", "||", "==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "/", "%",
    ];
    let leaf = prop::sample::select(leaves).prop_map(str::to_owned);
    leaf.prop_recursive(6, 40, 5, move |inner| {
        let op = prop::sample::select(operators.clone());
        let two = (inner.clone(), inner.clone());
        let three = (inner.clone(), inner.clone(), inner.clone());
        let some = prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            (two.clone(), op.clone()).prop_map(|((a, b), op)| format!("{a} {op} {b}")),
            (two.clone(), op).prop_map(|((a, b), op)| format!("({a}) {op} {b}")),
            (inner.clone(), prop::sample::select(vec!["", "!", "-", "- "]))
                .prop_map(|(a, sign)| format!("{sign}({a})")),
            (inner.clone(), prop::sample::select(vec!["!", "-"])).prop_map(|(a, sign)| format!("{sign}{a}")),
            (inner, prop::sample::select(vec![" .b", ".size()"])).prop_map(|(a, part)| a + part),
            two.clone().prop_map(|(a, b)| format!("{a}[{b}]")),
            two.clone().prop_map(|(a, b)| format!("{a}.f({b}, {a})")),
            three.clone().prop_map(|(a, b, c)| format!("{a} ? {b} : {c}")),
            three.prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            some.clone().prop_map(|all| format!("[{}]", all.join(", "))),
            some.prop_map(|all| format!("g({})", all.join(", "))),
            two.clone().prop_map(|(a, b)| format!("{{x: {a}, 'y': {b}}}")),
            two.prop_map(|(a, b)| format!("Key{{x: {a}, y: {b}}}")),
        ]
    })
}

#[test]
fn what_binds_tighter_is_what_cel_says() {
    for source in [
        "-1 .a",
        "- 1[0]",
        "a - 1",
        "a -1",
        "(-1).f(2)",
        "-(1)",
        "((a + b)).c[(d)]",
        "a in (b)",
        "a ? b : c ? d : e",
        "(a ? b : c) ? d : e",
        "a || b && c || d && e && f || g || h",
        "a < b < c == d",
        "a * -1 / 2 % 3 - 4",
        "!a.b && -c.d < 1",
        "A{b: 1, c: 2}.d",
    ] {
        assert!(is_read_as_by_cel(source), "{source}");
    }
    for terms in 1..40 {
        assert!(is_read_as_by_cel(&("a || ".repeat(terms) + "a")));
        assert!(is_read_as_by_cel(&("a - ".repeat(terms) + "a")));
    }
}

#[test]
fn what_is_drawn_is_read_as_by_cel() {
    let config = ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let read = std::cell::Cell::new(0);
    let ran = runner.run(&drawn_expression(), |source| {
        read.set(read.get() + usize::from(is_read_as_by_cel(&source)));
        Ok(())
    });
    ran.unwrap();
    assert!(read.get() > 500, "{} were read", read.get());
}
