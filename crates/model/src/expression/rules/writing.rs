//! The rules about how an expression is written.

use crate::diagnostic::{Rule, Severity};

/// An expression is missing.
pub(crate) static EMPTY: Rule = Rule {
    code: "S101",
    name: "empty-expression",
    severity: Severity::Error,
    page: r#"an expression is missing

The place asks for an expression and holds nothing, or only white space. A condition without text would be easy to take for
one that always holds, so nothing is assumed.

Wrong:

```yaml
allow: ""
```

The way out:

```yaml
allow: true
```
"#,
};

/// An expression is longer than a person can check.
pub(crate) static TOO_LONG: Rule = Rule {
    code: "S102",
    name: "expression-too-long",
    severity: Severity::Error,
    page: r#"an expression is longer than a person can check

An expression holds up to 4096 bytes and 512 words and signs. The bound keeps the checker quick on any input; long before it,
an expression is better said in parts: several entries under `require`, a `let`, or an `is` attribute.

Wrong:

```yaml
allow: caller.id == "a" || caller.id == "b" || …
```

The way out:

```yaml
allow: caller.role == "admin"
```
"#,
};

/// An expression is nested too deeply.
pub(crate) static TOO_DEEP: Rule = Rule {
    code: "S103",
    name: "expression-too-deep",
    severity: Severity::Error,
    page: r#"an expression is nested too deeply

Brackets nest up to 32 deep, and one expression holds up to 32 `? :`. Give a part its own name with `let`, or make an attribute
of it with `is`.

Wrong:

```yaml
nextMin: {is: "((((((…))))))"}
```

The way out:

```yaml
nextMin: {is: 'currentBid == absent ? minBid : currentBid + 1'}
```
"#,
};

/// A bracket is not closed, or closes nothing.
pub(crate) static UNBALANCED: Rule = Rule {
    code: "S104",
    name: "unbalanced-brackets",
    severity: Severity::Error,
    page: r#"a bracket is not closed, or closes nothing

Either a bracket was forgotten, or YAML ended the text before the expression did: within `{…}` and `[…]` plain text ends at a
`,`, and everywhere at `: ` and ` #`. What is left would parse as something else, so it is refused.

Wrong:

```yaml
with: {next: {find: Task, where: f(a, b)}}
```

The way out:

```yaml
with: {next: {find: Task, where: "f(a, b)"}}
```
"#,
};

/// Text in quotes is not written as the language has it.
pub(crate) static TEXT_LITERAL: Rule = Rule {
    code: "S105",
    name: "text-literal",
    severity: Severity::Error,
    page: r#"text in quotes is not written as the language has it

Text stands between two `"` or two `'`, on one line, with the escapes `\\ \" \' \n \r \t \u0041`. Prefixes such as `r"…"` and three
quotes are not known. In a plain or single-quoted YAML scalar nothing more is needed; in a double-quoted one YAML takes the
escapes first.

Wrong:

```yaml
where: status == "open
```

The way out:

```yaml
where: status == "open"
```
"#,
};

/// A value or an operator is missing.
pub(crate) static UNEXPECTED: Rule = Rule {
    code: "S106",
    name: "unexpected-word",
    severity: Severity::Error,
    page: r#"a value or an operator is missing

Values and operators take turns: `a == b && c == d`. Where two values meet, or two operators, or the expression ends too early,
there are several ways to read it, and none is chosen.

Wrong:

```yaml
where: user_id == && status == "open"
```

The way out:

```yaml
where: user_id == caller.id && status == "open"
```
"#,
};

/// An operator of another language.
pub(crate) static FOREIGN_OPERATOR: Rule = Rule {
    code: "S107",
    name: "foreign-operator",
    severity: Severity::Error,
    page: r#"an operator of another language

Expressions are CEL. `=` does not compare, and `and`, `or`, `not`, `is`, `like`, `<>` and single `&` or `|` are not operators.

Wrong:

```yaml
where: status = "open" and owner <> caller.id
```

The way out:

```yaml
where: status == "open" && owner != caller.id
```
"#,
};

/// A character that begins nothing.
pub(crate) static STRAY_CHARACTER: Rule = Rule {
    code: "S108",
    name: "stray-character",
    severity: Severity::Error,
    page: r#"a character that begins nothing

Outside text in quotes an expression holds names, numbers, operators and brackets. Typographic quotes often come with copied
text; a name with other characters is reached as `row["na-me"]`.

Wrong:

```yaml
where: status == “open”
```

The way out:

```yaml
where: status == "open"
```
"#,
};

/// A number is not written as the language has it.
pub(crate) static NUMBER_LITERAL: Rule = Rule {
    code: "S109",
    name: "number-literal",
    severity: Severity::Error,
    page: r#"a number is not written as the language has it

Numbers are exact decimals of up to 38 digits, as DynamoDB keeps them: `12`, `-3`, `0.25`. There are no exponents, no hexadecimal
digits and no suffixes.

Wrong:

```yaml
where: amount > 1e3
```

The way out:

```yaml
where: amount > 1000
```
"#,
};

/// A comment within an expression.
pub(crate) static COMMENT: Rule = Rule {
    code: "S110",
    name: "comment-in-expression",
    severity: Severity::Error,
    page: r#"a comment within an expression

CEL knows `//`. In a folded block the lines become one, and everything after a `//` would be silently left out: a condition
would fail open. Comments belong to the file, after `#`.

Wrong:

```yaml
allow: >-
  caller.authenticated // for now
  && owner == caller.id
```

The way out:

```yaml
allow: caller.authenticated && owner == caller.id   # for now
```
"#,
};

/// A word that expressions keep for themselves.
pub(crate) static RESERVED_WORD: Rule = Rule {
    code: "S111",
    name: "reserved-word",
    severity: Severity::Error,
    page: r#"a word that expressions keep for themselves

`as break const continue else for function if import let loop namespace package return var void while` cannot stand as names.
An attribute of such a name is reached through its row.

Wrong:

```yaml
where: package == "basic"
```

The way out:

```yaml
where: row["package"] == "basic"
```
"#,
};
