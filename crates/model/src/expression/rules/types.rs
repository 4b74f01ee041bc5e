//! The rules about types and absence in expressions.

use crate::diagnostic::{Rule, Severity};

/// A value of the wrong type.
pub(crate) static TYPE_MISMATCH: Rule = Rule {
    code: "T108",
    name: "type-mismatch",
    severity: Severity::Error,
    page: r#"a value of the wrong type

The place asks for one type and the expression gives another. Nothing is converted silently: `string(x)` makes text,
`round(x, 0)` a whole number, `day(t)` a date.

Wrong:

```yaml
set: {due_date: now}
```

The way out:

```yaml
set: {due_date: today}
```
"#,
};

/// A comparison of two types that never meet.
pub(crate) static INCOMPARABLE: Rule = Rule {
    code: "T109",
    name: "incomparable-types",
    severity: Severity::Error,
    page: r#"a comparison of two types that never meet

Two values compare when they are stored in one form: numbers with numbers, text with text and ids, dates with dates. An instant
kept as ISO text never equals one kept as epoch seconds, and an instant is not a day.

Wrong:

```yaml
where: createdAt <= args.to
```

The way out:

```yaml
where: day(createdAt) <= args.to
```
"#,
};

/// Text that is not a member of the enum.
pub(crate) static NOT_A_MEMBER: Rule = Rule {
    code: "T110",
    name: "not-a-member",
    severity: Severity::Error,
    page: r#"text that is not a member of the enum

An enum holds its members only, so a comparison with any other text is never true.

Wrong:

```yaml
where: status == "done"
```

The way out:

```yaml
where: status == "completed"
```
"#,
};

/// Text that is not a value of the type it stands for.
pub(crate) static INVALID_LITERAL: Rule = Rule {
    code: "T111",
    name: "invalid-literal",
    severity: Severity::Error,
    page: r#"text that is not a value of the type it stands for

Text in quotes stands for a date (`"2026-02-13"`), a month (`"2026-02"`), a time (`"2026-02-13T08:00:00Z"`), a clock (`"08:00"`) or an id
where it meets one. What is not of that form would never match, or sort anywhere.

Wrong:

```yaml
where: due_date < "tomorrow"
```

The way out:

```yaml
where: due_date < today + days(1)
```
"#,
};

/// `<` on something that has no order.
pub(crate) static NO_ORDER: Rule = Rule {
    code: "T112",
    name: "no-order",
    severity: Severity::Error,
    page: r#"`<` on something that has no order

Numbers, text, dates, instants, durations, ids and enums (by rank) have an order. Truth values, places, objects, lists, sets, maps
and free-form values have none.

Wrong:

```yaml
where: 1 < stars < 5
```

The way out:

```yaml
where: 1 < stars && stars < 5
```
"#,
};

/// Computing with a value that may be absent.
pub(crate) static MAY_BE_ABSENT: Rule = Rule {
    code: "T113",
    name: "may-be-absent",
    severity: Severity::Error,
    page: r#"computing with a value that may be absent

A comparison with an absent value is false and needs no test. Arithmetic, functions and text put together have no such answer:
the value is tested first, in the same expression, in `when` or in `require`.

Wrong:

```yaml
expires: completed_at + days(365)
```

The way out:

```yaml
expires: 'completed_at == absent ? absent : completed_at + days(365)'
```
"#,
};

/// An optional argument that was not tested.
pub(crate) static UNTESTED_ARGUMENT: Rule = Rule {
    code: "T114",
    name: "untested-optional-argument",
    severity: Severity::Error,
    page: r#"an optional argument that was not tested

Only a top-level conjunct `attribute OP args.x` of a `where` is left out when `x` was not sent. Anywhere else, inside `||`, `!`, `allow`
or `require`, two readings are possible, and one of them fails open: the test says which.

Wrong:

```yaml
allow: args.owner == caller.id
```

The way out:

```yaml
allow: args.owner == absent || args.owner == caller.id
```
"#,
};

/// A test for absence of a value that is always there.
pub(crate) static NEVER_ABSENT: Rule = Rule {
    code: "T115",
    name: "never-absent",
    severity: Severity::Warning,
    page: r#"a test for absence of a value that is always there

The attribute or argument is required, so the test always comes out the same. Either the test is left over, or a `?` is missing
from the declaration.

Wrong:

```yaml
where: title != absent
```

The way out:

```yaml
title: string? 1..200
```
"#,
};

/// Absence spelled as in another language.
pub(crate) static FOREIGN_ABSENCE: Rule = Rule {
    code: "T116",
    name: "foreign-absence",
    severity: Severity::Error,
    page: r#"absence spelled as in another language

What is missing is `absent`, and `x == absent` is its only test: there is no `null`, and no `has(x)`. A stored NULL reads as absent.

Wrong:

```yaml
where: has(due_date) && owner != null
```

The way out:

```yaml
where: due_date != absent && owner != absent
```
"#,
};

/// An operator between types it is not made for.
pub(crate) static ARITHMETIC: Rule = Rule {
    code: "T117",
    name: "arithmetic-types",
    severity: Severity::Error,
    page: r#"an operator between types it is not made for

`+ - * %` take numbers; `+` joins text with text; an instant or a date takes a duration. A date takes days and months, not hours:
a day has no clock.

Wrong:

```yaml
text: "'bid of ' + amount"
```

The way out:

```yaml
text: "'bid of ' + string(amount)"
```
"#,
};

/// `/` outside `round`.
pub(crate) static DIVISION: Rule = Rule {
    code: "T118",
    name: "division-outside-round",
    severity: Severity::Error,
    page: r#"`/` outside `round`

Numbers are exact decimals, and most quotients are not: `1 / 3` has no last digit. `round(x / y, 2)` says how many are kept.

Wrong:

```yaml
mean: {is: "total / count"}
```

The way out:

```yaml
mean: {is: "round(total / count, 2)"}
```
"#,
};

/// Two results of one expression with different types.
pub static BRANCHES: Rule = Rule {
    code: "T122",
    name: "branches-disagree",
    severity: Severity::Error,
    page: r#"two results of one expression with different types

Both branches of `? :`, and all elements of a list, have one type; `absent` goes with any.

Wrong:

```yaml
total: {is: 'paid ? amount : "open"'}
```

The way out:

```yaml
total: {is: 'paid ? amount : absent'}
```
"#,
};

/// A value outside the limits of its type.
pub(crate) static OUTSIDE_LIMITS: Rule = Rule {
    code: "T124",
    name: "outside-limits",
    severity: Severity::Error,
    page: r#"a value outside the limits of its type

The value is written out, and the attribute or argument does not admit it: the operation could never succeed.

Wrong:

```yaml
priority: int 1..5 = 0
```

The way out:

```yaml
priority: int 1..5 = 1
```
"#,
};
