//! What can be wrong with a model as a text of the language. Design rules are the linter's.

use crate::diagnostic::{Rule, Severity};

macro_rules! language_rules {
    ($($name:ident $code:literal $kebab:literal $severity:ident $page:literal)*) => {
        $(
            #[doc = $kebab]
            pub static $name: Rule = Rule {
                code: $code,
                name: $kebab,
                severity: Severity::$severity,
                page: $page,
            };
        )*
        /// The rules of this file, by code.
        static LANGUAGE: &[&Rule] = &[$(&$name),*];
    };
}

/// Every rule of the language, those of expressions included.
pub fn all_rules() -> impl Iterator<Item = &'static Rule> {
    LANGUAGE.iter().chain(crate::expression::RULES).copied()
}

language_rules! {
FILE_TOO_LARGE "S001" "file-too-large" Error "The file is larger than a model may be.

A model is read whole into memory. 32 MiB hold some tens of thousands of entities; a larger file is not a model.

Way out: check that the path is right, or split the system."

YAML_SYNTAX "S002" "yaml-syntax" Error "The file is not one YAML 1.2 document.

Nothing after the place could be read, so this is the only finding.

```yaml
where: {a: b          # the brace is not closed
```

Way out: correct the place. Most often a quote or a bracket is missing, a tab indents, or an expression needs quotes."

YAML_FEATURE "S003" "yaml-feature" Error "Tags, anchors and aliases are not part of the language.

YAML takes `!a` as a tag and drops it, so `allow: !a && b` would silently mean `b`. Anchors and aliases make one place change another.

```yaml
allow: !suspended && caller.authenticated      # YAML reads: caller.authenticated
```

Way out: put an expression that starts with `!` in parentheses, and write repeated values out."

DUPLICATE_KEY "S004" "duplicate-key" Error "A name is defined twice in one map.

Most YAML readers keep one of the two and say nothing.

Way out: remove one, or rename it."

NULL_VALUE "S005" "null-value" Error "A field is present but has no value.

`where:` with nothing after it would mean every row. What is not meant is left out.

Way out: give the field a value, or remove it."

UNKNOWN_FIELD "S006" "unknown-field" Error "The language has no such field here.

A field that nobody reads is a wish that nobody grants: `expire:` would keep rows for ever.

Way out: the message names the nearest field, or all that there are; `singlet schema` has them for your editor."

MISSING_FIELD "S007" "missing-field" Error "A field that must be there is not.

Above all `allow`: nothing may be read or written by default.

Way out: add the field."

WRONG_SHAPE "S008" "wrong-shape" Error "A value is of another kind than the field takes.

```yaml
indexes: [GSI1, GSI2]      # a map from names, not a list
```

Way out: the message says what belongs there."

UNQUOTED_TEMPLATE "S009" "unquoted-template" Error "A key template is not in quotes.

`PK: USER#{id}` happens to work, `PK: {id}` is a map, and ` #` begins a comment. Quotes always work.

```yaml
key: {PK: \"USER#{id}\", SK: \"METADATA\"}
```

Way out: quote it."

CUT_EXPRESSION "S010" "cut-expression" Error "YAML ended an expression before its end.

In a flow map, a comma or a bracket ends a value. The rest turns into keys without values.

```yaml
{where: a == min(x, y)}        # YAML reads `a == min(x` and a key `y)`
```

Way out: put the whole expression in quotes."

BAD_TYPE "S011" "bad-type" Error "A type is not written as types are.

`TYPE[?] [LIMIT] [= DEFAULT]`: `string? 1..200`, `int 0.. = 0`, `string /[A-Z]{2}/`, `set(string 1..30) ..20`.

Way out: the message says which part cannot be read."

BAD_TEMPLATE "S012" "bad-template" Error "A key template cannot be read.

A template is text and `{parts}`; a part is an attribute, a path into one, or one function of it: lower upper day month year desc rank ordered geohash plain raw.

```yaml
SK: \"STATUS#{status\"                 # not closed
SK: \"TASK#{lower(rank(priority))}\"   # two functions
```

Way out: close the brace, name one attribute, use at most one function that fits its type."

BAD_ROUTE "S013" "bad-route" Error "A route cannot be read.

`METHOD /path/{variable}?query={argument}&flag=true -> STATUS`.

Way out: the message names the part; every variable is an argument of the read or write."

BAD_REFUSAL "S014" "bad-refusal" Error "A requirement or refusal cannot be read.

```yaml
require:
  - args.amount >= a.nextMin else bid_too_low(least = a.nextMin)
  - user.active else 403 suspended
```

Way out: `EXPRESSION else [STATUS] NAME(shown = value)`."

BAD_STATES "S015" "bad-states" Error "A state machine does not fit its attribute.

Moves are `from | from -> to`, lapses `state at time`; every state is a member of the attribute's enum.

Way out: the message names the word."

INVALID_UTF8 "S016" "invalid-utf8" Error "The file is not UTF-8.

Way out: save it as UTF-8."

NOT_YET "S017" "not-yet" Error "The language knows this, Singlet does not do it yet.

It is refused, so that no model counts on something that would not happen.

Way out: the help says what does the same today, where something does."

UNSUPPORTED_VERSION "S018" "unsupported-version" Error "The file is written for another version of the language.

Way out: `singlet: 1`."

TOO_MANY "S019" "too-many" Error "The model has more of something than a model may have.

Reads are tried on every path, mirrors have the attributes of their source, and what comes with a row is planned for every combination
of arguments: what is multiplied has a bound, so that every file is checked in seconds. [The limits](../language.md#limits) are far
beyond what a design has; a model that reaches one is usually generated, or has values where names belong.

Way out: make what differs in its values rows of one entity, entries of one `map(…)`, or arguments of one read."

UNKNOWN_TYPE "N001" "unknown-type" Error "There is no such type.

Types are the built-in ones, the names under `types`, and `Entity.attribute` for the type of another attribute.

Way out: correct the name, or add it under `types`."

UNKNOWN_ENTITY "N002" "unknown-entity" Error "There is no such entity.

Way out: correct the name, or add the entity."

UNKNOWN_ATTRIBUTE "N003" "unknown-attribute" Error "The entity has no such attribute.

Way out: correct the name, or declare the attribute."

UNKNOWN_INDEX "N004" "unknown-index" Error "The table has no such index.

Way out: correct the name, or add the index under `table`."

UNKNOWN_KEY_ATTRIBUTE "N005" "unknown-key-attribute" Error "A template fills an attribute that is no key of the table or index.

Way out: use the names that `table` gives."

UNKNOWN_STEP "N006" "unknown-step" Error "A step does nothing that the language knows, and no step of that name is defined.

Way out: create, update, delete, upsert, present, absent, or a name under `steps`."

UNKNOWN_MOVE "N007" "unknown-move" Error "The entity has no such move.

Way out: name one of the moves under `states`."

RESERVED_NAME "N008" "reserved-name" Error "The name has a meaning of its own in expressions.

`args caller now today row rows source absent done settings request response` are reserved.

Way out: choose another name."

AMBIGUOUS_NAME "N009" "shadowed-name" Error "One name means two things here.

A name bound by `let`, `for`, `as` or `each` must not be an attribute's that stands in the same expressions, nor be bound twice.

Way out: rename the bound one."

UNKNOWN_ARGUMENT "N010" "argument-mismatch" Error "An argument is used that is not declared, or declared and not used.

Path variables are arguments by themselves; every other one stands under `args`, or comes from `take` or `patch`.

Way out: declare it, or correct the name."

UNKNOWN_SUBJECT "N011" "unknown-subject" Error "`estimates` names nothing of the model.

Way out: name an entity, a read or a write."

DUPLICATE_ROUTE "M001" "duplicate-route" Error "Two routes answer the same request.

Reads may share a path when their query parameters differ, so that each request has one meaning.

Way out: give one of them another path, another method or other parameters."

INCOMPLETE_KEY "M002" "incomplete-key" Error "A row of this entity would have no primary key.

Each attribute of the table's key needs a template, or is an attribute of the entity. Key parts are never optional.

Way out: add the template."

INCOMPLETE_CREATE "M003" "incomplete-create" Error "A create leaves a required attribute without a value.

Way out: set it, take it, or give it a default."

NOT_ASSIGNABLE "M004" "not-assignable" Error "The attribute cannot be written this way.

Computed and always-set attributes, versions and copies follow by themselves; a state changes by a `move`; what is fixed, part of the primary key or named by `allow` stays as it is.

Way out: the help names the way that there is."

NO_MEANING "M005" "no-meaning" Error "A read, write or step does not say what it does, or says two things.

A read has one of `get`, `find`, `count`, or only `with`; a step has one action.

Way out: keep one."

BAD_MIRROR "M006" "bad-mirror" Error "A mirror cannot follow its source.

A mirror has no attributes, states or guards of its own: it carries attributes of the entity that it mirrors, and its key is made of them.

Way out: the message names the field."

BAD_HISTORY "M007" "bad-history" Error "A history cannot work with these attributes.

`at` is a `time` in the primary key, `until` an optional `time`, `tombstone` a `bool`.

Way out: correct the attribute's type or the key."

BAD_COPY "M008" "bad-copy" Error "A copy does not say whose value it repeats.

`copy: Entity(key).attribute`. Where a part of the key is absent, so is the copy.

Way out: the message names what is missing."

BAD_UNIQUE "M009" "bad-unique" Error "A guard cannot be kept for this value.

The value of a guard is text or a number, computed from the row alone.

Way out: use attributes of the entity, and `lower` or `upper` of them."

BAD_ORDER "M010" "bad-order" Error "`order` names something by which rows cannot come.

Way out: name attributes of the entity, `-` before one that descends."

BAD_BOUNDS "M011" "bad-bounds" Error "A number, rate or range cannot be read.

Way out: write `5`, `1..5`, `..5`, `40/s`, `100/min`."

UNBOUNDED_WRITE "M012" "unbounded-write" Error "A transaction cannot hold as many items as this write may change.

A transaction has at most 100 items; a loop over rows or over a list without an upper limit can exceed it. Rows that `let` finds count too:
the write insists that each is still as it was read. In a bulk write each turn of an outermost loop is a transaction, so that a loop within it
needs a limit as well.

Way out: limit the list (`set(Task.task_id) 1..25`), say `limit` of a read, or `bulk: true`."

CYCLE "M013" "cycle" Error "A computed attribute or a type depends on itself.

Way out: break the circle."

ROW_NOT_READ "M020" "row-not-read" Error "A row is named by its key where nobody reads it.

The expressions of a write may name rows, `P(args.id).price`: the write reads them as if `let` had named them. What an entity says of itself
is computed from the row alone, the `where` of a read is decided by the store, and what a refusal shows is known before it is said.

```yaml
total: {is: Price(sku).amount}
```

Way out: `copy: Price(sku).amount` on an attribute; in a read or a write, name the row with `let` and use that name."

KEY_OVER_ATTRIBUTE "M021" "key-over-attribute" Error "A key attribute and another attribute are stored under one name.

An item has one value under a name. Where a template makes the key of something else than the attribute of that name, one of the two would overwrite the other; and an index whose key attributes are all the row's own holds every row that has them, whatever `when` says.

```yaml
attributes: {store: string 1..20, aggregateId: string 1..40}
key: {aggregateId: \"{store}#{aggregateId}\", seq: \"{seq}\"}      # the key, or the id?
```

Way out: `stored: otherName` on the attribute, or `stored: none` where the key alone has it; for an index, a key attribute of its own."

LOST_ATTRIBUTE "M022" "lost-attribute" Error "An attribute is stored only in keys, and no key gives it back.

With `stored: none` an attribute has no place in an item but its keys. Where none of them has it, or only in a form that loses something (`lower(x)`, `day(x)`), a create takes the value and nobody ever sees it again. So it is where the key is not there for every row: an index key by condition, or one that an optional part leaves out.

```yaml
attributes: {day: date, note: {type: string 1..40, stored: none}}
key: {PK: \"DAY#{day}\", SK: NOTE}
```

Way out: leave `stored: none` out, or put the attribute into a key as it is."

VALUE_NOT_KEPT "M023" "value-not-kept" Error "A value that is new each time is made where nothing keeps it.

`ulid()`, `ksuid()`, `uuid()`, `digits(n)` and `random(n)` give another value each time. A computed attribute, an expiry, a unique value or the condition of a key is computed again whenever its row is written or looked at, and a read stores nothing.

```yaml
attributes: {id: {is: ulid()}}
```

Way out: a default, `id: ulid = ulid()`, which a create sets once; in a write, `set` or `let`."

BAD_TRIGGER "M024" "bad-trigger" Error "A write cannot run after this change.

`after` names one thing that happens to rows of an entity: `create: Bid`, `update: Auction`, `update: Auction.leaderId`, `delete: Bid`, `enter: Item.given`, `expire: Hold` or `reach: Task.remindAt`, an instant that its rows hold. What time does is fired by timers, which need a table with a sort key of text. `when` and `args` are computed from the change alone: `row`, what it became, and, for updates, `before`, what it was. Where only a change calls the write, nobody may (`allow`), asks (`idempotency`, `if_match`) or is answered (`return`).

```yaml
writes:
  tellOutbid:
    after: {update: Auction.leaderId}
    when: before.leaderId != absent
    do: [{notify: {user: before.leaderId, kind: outbid}}]
```

Way out: the message names the word. To change the row itself, name it with `let`: `row` is what it became then, not what it is now."

STREAM_TOO_NARROW "M025" "stream-too-narrow" Error "The stream of the table does not carry what is followed.

What follows changes reads the table's stream. Tallies, `delete`, `expire`, `enter`, `reach`, `update` of one attribute and rows with history need the row before and after, `both_images`; `create` and `update` of an entity the row after, `new_image`.

```yaml
table: {name: shop, key: {partition: PK, sort: SK}, stream: keys_only}
```

Way out: `stream: both_images` under `table`."

BAD_SCHEDULE "M026" "bad-schedule" Error "A write cannot run by this clock.

`every` says when a write runs by itself, in the zone of the model: `15min` or `1h`, from a minute to a day; `day at 03:30`; `monday at 07:00`. Nobody calls it then: arguments that it needs have defaults, and without a route there is nobody who may (`allow`), asks (`idempotency`, `if_match`) or is answered (`return`).

```yaml
writes:
  forgetDrafts:
    every: day at 03:30
    bulk: true
    do: [{for: {d: {find: Draft, where: createdAt < now - days(30)}}, delete: d}]
```

Way out: the message names the word."

BAD_TALLY "M027" "bad-tally" Error "A tally cannot be kept so, or a read cannot be answered by it.

A tally is kept from the changes of rows: `by`, `where` and `sum` are computed from the row alone, without the time, the caller, settings or other rows, so that a row that goes is taken from where it was counted. It lies in rows side by side, for which the table needs a sort key of text. A read of a tally may fix some of its groups, `user_id == caller.id`; it knows nothing else of rows.

```yaml
tallies:
  tasksByStatus: {count: Task, by: [user_id, status]}
reads:
  statusCounts:
    tally: tasksByStatus
    where: title == args.title
    allow: caller.authenticated
```

Way out: the message names the word. What depends on more than the row is counted when it is asked for: `count`."

BAD_WEBHOOK "M029" "bad-webhook" Error "Nobody can be told so after this change.

A webhook tells another system of a change, by Standard Webhooks: `after` names the change as for a write, `send` what is told of it, computed from `row` and `before` alone, and `to` the address, computed from `settings`. What is still to be told lies in the table in the order of its instants, which needs a sort key of text. Its name is the `type` of the event, and no write's.

```yaml
webhooks:
  reservations:
    after: {create: Reservation}
    to: settings.reservationsUrl
    send: {reservation: row.resId, item: row.itemId}
```

Way out: the message names the word."

BAD_SEARCH "M031" "bad-search" Error "Rows cannot be found by these words, or a read cannot search so.

`search` names entities and their attributes that hold text, or lists and sets of text. Their words lie in an index that follows the table's changes, beside the table; rows that are no changes of their own, such as mirrors, are not in it. A `find` with `matching` gives the rows that have all words of a text, the best first: it takes no `order`, and since the index is a little behind it is never `consistent` or `together`. What is searched for is always there. `highlight` marks what was found: beside `return` it names the attributes, so that it shows nothing which the answer leaves out.

```yaml
search: {Task: [title, description]}
reads:
  searchTasks:
    find: Task
    args: {q: string 1..100}
    matching: args.q
    where: user_id == caller.id
    allow: caller.authenticated
```

Way out: the message names the word."

BAD_WAS "M032" "bad-was" Error "`was:` names something that cannot have been this before.

A change of names cannot be seen in two models: a name is gone, and another is there. `was:` says that they are the same, so that `singlet diff` and what changes stored rows take the one for the other. What it names is no longer there, and one thing at most was it. It means nothing to the model itself, and can go when no table has rows of before.

```yaml
types:
  Status: {enum: [open, done], was: {done: finished}}
entities:
  Task:
    was: Todo
    attributes:
      title: {type: string 1..200, was: name}
```

Way out: the message names the other."

BAD_FILL "M033" "bad-fill" Error "`fill:` is not what rows of before can be given.

It is computed of each stored row, maybe more than once, and gives the same each time: attributes of the row and what is made of them. The clock, new ids, settings, callers and other rows are none of it, and neither is the attribute itself. What is computed or copied (`is`, `copy`) fills itself, and a mirror has what its source has.

```yaml
priority: {type: Priority, fill: 'due == absent ? \"low\" : \"high\"'}
```

Way out: the message names the word; a constant always works."

FOLLOWS_A_LAPSE "M034" "follows-a-lapse" Error "What is stored would not follow when a state lapses.

A state that lapses ends at its instant for every reader, and nobody writes the row then. A computed attribute (`is`) is stored, and a unique value has a guard that is stored: both would say what was, until the row happens to be written again. That holds for the state, unless it is compared with states that none lapses from or to, and for what `while` sets until it lapses.

```yaml
states: {of: state, start: free, moves: {hold: free -> held}, lapse: {held: \"free at heldUntil\"}}
unique: {oneHold: 'state == \"held\" ? holder : absent'}   # would stay taken
```

Way out: compute it where it is read, or store the instant alone; make the unique value a row of its own, which `expires` when the state lapses."
}
