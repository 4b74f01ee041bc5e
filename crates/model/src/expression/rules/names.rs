//! The rules about names in expressions: attributes, functions, keys.

use crate::diagnostic::{Rule, Severity};

/// A name that means nothing here.
pub(crate) static UNKNOWN_NAME: Rule = Rule {
    code: "T101",
    name: "unknown-name",
    severity: Severity::Error,
    page: r#"a name that means nothing here

A bare name is an attribute of the row in scope, or a name bound by `let`, `for`, `as` or `each`. Arguments are `args.x`, claims
`caller.x`, settings `settings.x`; text and enum members stand in quotes.

Wrong:

```yaml
where: user_id == task_owner
```

The way out:

```yaml
where: user_id == args.task_owner
```
"#,
};

/// A field that its owner does not have.
pub(crate) static UNKNOWN_FIELD: Rule = Rule {
    code: "T102",
    name: "unknown-member",
    severity: Severity::Error,
    page: r#"a field that its owner does not have

After a `.` stands an attribute of a row, a field of an object, `lat` or `lon` of a place, `key` or `rows` of a group. A map's
entries are reached by `counts["kind"]`.

Wrong:

```yaml
allow: booking.owner == caller.id
```

The way out:

```yaml
allow: booking.userId == caller.id
```
"#,
};

/// An argument that the operation does not have.
pub(crate) static UNKNOWN_ARGUMENT: Rule = Rule {
    code: "T103",
    name: "unknown-argument",
    severity: Severity::Error,
    page: r#"an argument that the operation does not have

Path variables and attributes under `take` or `patch` are arguments by themselves; every other `args.x` is declared under `args`.
An undeclared one would be absent in every request.

Wrong:

```yaml
where: status == args.state
```

The way out:

```yaml
args: {state: Status}
where: status == args.state
```
"#,
};

/// A word that this place does not know.
pub(crate) static NOT_HERE: Rule = Rule {
    code: "T104",
    name: "not-available-here",
    severity: Severity::Error,
    page: r#"a word that this place does not know

`args` needs a request, `caller` a caller, `row` a row that is known already, `rows` the rows of a `find`, `source` the row of a
copy, `done` a bulk write, `request` and `response` an idempotency record.

Wrong:

```yaml
expires: args.until
```

The way out:

```yaml
expires: createdAt + days(30)
```
"#,
};

/// A function that the language does not have.
pub(crate) static UNKNOWN_FUNCTION: Rule = Rule {
    code: "T105",
    name: "unknown-function",
    severity: Severity::Error,
    page: r#"a function that the language does not have

The functions are a closed list, so that each one's types are known and none means something else in DynamoDB. A name with
`(…)` that is not on the list is an entity, and there is none of this name.

Wrong:

```yaml
where: len(title) > 3
```

The way out:

```yaml
where: size(title) > 3
```
"#,
};

/// A function with too few or too many values.
pub(crate) static WRONG_ARGUMENTS: Rule = Rule {
    code: "T106",
    name: "wrong-number-of-arguments",
    severity: Severity::Error,
    page: r#"a function with too few or too many values

The message shows how the function is written.

Wrong:

```yaml
rating: {is: "round(total)"}
```

The way out:

```yaml
rating: {is: "round(total, 2)"}
```
"#,
};

/// A method called as a function, or the other way round.
pub(crate) static CALL_FORM: Rule = Rule {
    code: "T107",
    name: "function-or-method",
    severity: Severity::Error,
    page: r#"a method called as a function, or the other way round

`contains startsWith exists all map filter` stand after their value; all other functions stand before it. There is one way to
write each.

Wrong:

```yaml
where: contains(title, args.text)
```

The way out:

```yaml
where: title.contains(args.text)
```
"#,
};

/// Key values of one type, told apart by position only.
pub(crate) static POSITIONAL_KEY: Rule = Rule {
    code: "T119",
    name: "positional-key",
    severity: Severity::Warning,
    page: r#"key values of one type, told apart by position only

Where two variables of a key have the same type, swapping them goes unnoticed and finds another row. Such a key is written with
names, unless each value is called as the variable that it stands for: `Task(args.tenant, args.task)`.

Wrong:

```yaml
update: Follow(args.user, caller.id)
```

The way out:

```yaml
update: "Follow{user: args.user, follower: caller.id}"
```
"#,
};

/// A key with missing, extra or unknown values.
pub(crate) static WRONG_KEY: Rule = Rule {
    code: "T120",
    name: "wrong-key",
    severity: Severity::Error,
    page: r#"a key with missing, extra or unknown values

`Entity(a, b)` takes the variables of the primary key in order of first appearance, partition then sort, without history's;
`Entity{a: …, b: …}` takes them by name.

Wrong:

```yaml
delete: Task(args.task_id)
```

The way out:

```yaml
delete: Task(caller.id, args.task_id)
```
"#,
};

/// A function that only key templates have.
pub(crate) static KEY_FUNCTION: Rule = Rule {
    code: "T121",
    name: "key-function",
    severity: Severity::Error,
    page: r#"a function that only key templates have

`desc rank ordered plain raw` say how a value is written into a key. Elsewhere values are compared as they are, and enums by rank.

Wrong:

```yaml
where: rank(priority) < 2
```

The way out:

```yaml
where: priority in ["urgent", "high"]
```
"#,
};

/// A name that is both an attribute and bound.
pub(crate) static AMBIGUOUS: Rule = Rule {
    code: "T123",
    name: "ambiguous-name",
    severity: Severity::Error,
    page: r#"a name that is both an attribute and bound

A bare name would mean the row's attribute to one reader and the bound value to another. The bound one is renamed; the attribute
can always be written `row.name`.

Wrong:

```yaml
let: {status: Status(args.id)}
where: status == "open"
```

The way out:

```yaml
let: {state: Status(args.id)}
where: status == "open"
```
"#,
};
