//! Mistakes of meaning: names, keys, functions, types.

use super::*;
use model::{int, string, words};

#[test]
#[rustfmt::skip]
fn names_and_functions() {
    refuses(|model| model.row("Task"), &[
        (r#"titel == "x""#, "titel", "unknown-name", "`titel` is neither an attribute of `Task` nor bound here", "did you mean `title`?"),
        ("user_id == userId", "userId", "unknown-name", "`userId` is neither an attribute of `Task` nor bound here", "write `args.userId`"),
        ("user_id == caller_id", "caller_id", "unknown-name", "`caller_id` is neither an attribute of `Task` nor bound here", "write `caller.id`"),
        ("category == args.categry", "categry", "unknown-argument", "there is no argument `categry`", "did you mean `category`?"),
        (r#"args.nothing == "x""#, "nothing", "unknown-argument", "there is no argument `nothing`", "declare it under `args`: `nothing: …`"),
        ("caller.idd == user_id", "idd", "unknown-member", "a caller has no claim `idd`", "did you mean `id`?"),
        (r#"caller == "x""#, "caller", "unknown-name", "`caller` is no value by itself", "name what is meant: `caller.…`"),
        ("args", "args", "unknown-name", "`args` is no value by itself", "name what is meant: `args.…`"),
        (r#"row.titel == "x""#, "titel", "unknown-member", "`Task` has no attribute `titel`", "did you mean `title`?"),
        ("rows.exists(e, true)", "rows", "not-available-here", "`rows` means nothing here", "only `return` of a `find` knows the rows"),
        (r#"source.title == "x""#, "source", "not-available-here", "`source` means nothing here", "only `found` of a copy knows its source"),
        ("done > 1", "done", "not-available-here", "`done` means nothing here", "only `return` of a bulk write knows it"),
        (r#"response.body == "x""#, "response.body", "not-available-here", "`response.body` means nothing here", "only idempotency records and writes with idempotency know it"),
        (r#"request.kye == "x""#, "request.kye", "unknown-member", "`request` has no `kye`", "there are `request.key`, `request.hash`, `response.status` and `response.body`"),
        ("settings.retentoin > days(1)", "retentoin", "unknown-name", "there is no setting `retentoin`", "did you mean `retention`?"),
        ("status == pending", "pending", "unknown-name", "`pending` is neither an attribute of `Task` nor bound here", r#"write `"pending"`"#),
        ("status == pendig", "pendig", "unknown-name", "`pendig` is neither an attribute of `Task` nor bound here", r#"did you mean `"pending"`?"#),
        ("null == due_date", "null", "foreign-absence", "`null` is spelled `absent` here", "write `absent`"),
        ("due_date != None", "None", "foreign-absence", "`None` is spelled `absent` here", "write `absent`"),
        ("has(due_date)", "has(due_date)", "foreign-absence", "`has` is not a function: absence is compared", "write `due_date != absent`"),
        ("attribute_not_exists(due_date)", "attribute_not_exists(due_date)", "foreign-absence", "`attribute_not_exists` is not a function: absence is compared", "write `due_date == absent`"),
        ("len(title) > 3", "len", "unknown-function", "`len` is not a function", "write `size(…)`"),
        (r#"lowr(title) == "x""#, "lowr", "unknown-function", "`lowr` is not a function", "did you mean `lower`?"),
        ("Tsk(caller.id, args.task_id)", "Tsk", "unknown-function", "`Tsk` is not an entity", "did you mean `Task`?"),
        (r#"Task == "x""#, "Task", "unknown-name", "the entity `Task` is no value by itself", "`Task(…)` with its key is a row"),
        (r#"lower == "x""#, "lower", "unknown-name", "`lower` is neither an attribute of `Task` nor bound here", "`lower` is a function: `lower(string) -> string`"),
        (r#"title.lower() == "x""#, "title.lower()", "function-or-method", "`lower` is a function", "write `lower(title)`"),
        (r#"contains(title, "x")"#, r#"contains(title, "x")"#, "function-or-method", "`contains` is a method", r#"write `title.contains("x")`"#),
        ("startsWith(title)", "startsWith(title)", "function-or-method", "`startsWith` is a method", "write `string.startsWith(string) -> bool`"),
        (r#"title.startsWith("a", "b")"#, r#"title.startsWith("a", "b")"#, "wrong-number-of-arguments", "`startsWith` takes 1 value, not 2", "`string.startsWith(string) -> bool`"),
        ("round(price)", "round(price)", "wrong-number-of-arguments", "`round` takes 2 values, not 1", "`round(number, decimals) -> number`"),
        ("days() < days(1)", "days()", "wrong-number-of-arguments", "`days` takes 1 or 2 values, not 0", "`days(int) -> duration` or `days(from, to) -> list(date)`"),
        ("rank(priority) == 1", "rank(priority)", "key-function", "`rank` stands only in key templates", "compare the value as it is: enums compare by rank"),
        (r#"title.first == "x""#, "first", "unknown-member", "`title` has type `string`, which has no field `first`", ""),
        ("counts.red > 1", "red", "unknown-member", "`counts` has type `map(int)`, which has no field `red`", r#"write `counts["red"]` for an entry of a map"#),
        ("tags.size > 1", "size", "unknown-member", "`tags` has type `set(string)`, which has no field `size`", "write `size(tags)`"),
        (r#"payload.a.b == "x" && location"#, "location", "unknown-name", "`location` is neither an attribute of `Task` nor bound here", ""),
        (r#"title[0] == "x""#, "title[0]", "type-mismatch", "`title` has type `string`, which has no entries", "lists have entries by number, maps by text"),
        ("True", "True", "unknown-name", "`True` is neither an attribute of `Task` nor bound here", "write `true`"),
    ]);
}

#[test]
#[rustfmt::skip]
fn keys_and_bound_rows() {
    refuses(Model::write, &[
        ("Task(caller.id)", "Task(caller.id)", "wrong-key", "the key of `Task` takes 2 values, not 1", "its key is `Task(user_id, task_id)`"),
        ("Task(args.task_id, caller.id, 1)", "Task(args.task_id, caller.id, 1)", "wrong-key", "the key of `Task` takes 2 values, not 3", "its key is `Task(user_id, task_id)`"),
        ("Payment(b.bookingId, args.any)", "Payment(b.bookingId, args.any)", "positional-key", "`bookingId` and `paymentId` in the key of `Payment` have one type: only their places tell them apart", "name them, in quotes: `\"Payment{bookingId: b.bookingId, paymentId: args.any}\"`"),
        ("Payment{bookingId: b.bookingId}", "Payment{bookingId: b.bookingId}", "wrong-key", "`paymentId` is missing from the key of `Payment`", ""),
        ("Payment{bookingId: b.bookingId, paymentId: args.any, amount: 1}", "amount", "wrong-key", "`amount` is not part of the key of `Payment`", "its key is made of bookingId, paymentId"),
        ("Payment{bookingId: b.bookingId, bookingId: b.bookingId, paymentId: args.any}", "bookingId", "wrong-key", "`bookingId` is given twice", "its key is made of bookingId, paymentId"),
        ("Payments{bookingId: b.bookingId}", "Payments", "unknown-function", "`Payments` is not an entity", "did you mean `Payment`?"),
        (r#"Event(b.date, "NOON")"#, r#""NOON""#, "not-a-member", r#"`"NOON"` is not a member of `Slot`"#, "the members are MORNING, AFTERNOON, FULL_DAY"),
        ("Event(b.date, MORNING)", "MORNING", "unknown-name", "`MORNING` means nothing here", r#"write `"MORNING"`"#),
        ("Event(now, b.duration)", "now", "type-mismatch", "`now` has type `time` where `date` is expected", "write `day(now)`"),
        ("Booking(event.bookingId)", "event.bookingId", "may-be-absent", "`event.bookingId` may be absent here", "test it first: `event.bookingId != absent && …`, or `event.bookingId == absent ? … : …`"),
        (r#"row.title == "x""#, "row", "not-available-here", "`row` means nothing here", "there is no row here"),
        ("b.owner == caller.id", "owner", "unknown-member", "`Booking` has no attribute `owner`", ""),
        ("b == caller.id", "b == caller.id", "incomparable-types", "`b` has type `Booking`, which does not compare with `caller.id` of type `string`", "compare one of its attributes: `b.…`"),
        (r#"title == "x""#, "title", "unknown-name", "`title` means nothing here", ""),
        ("args.lines.exists(b, b.amount > 0)", "b", "ambiguous-name", "`b` is bound already and cannot name an element", "choose another name"),
        ("args.lines.exists(l.amount > 0)", "args.lines.exists(l.amount > 0)", "wrong-number-of-arguments", "`exists` takes 2 values, not 1", "`list.exists(v, condition) -> bool`"),
        ("args.lines.exists(1, true)", "1", "wrong-number-of-arguments", "`1` stands where the name of an element is expected", r#"write a new name first: `rows.exists(e, e.status == "open")`"#),
        ("args.lines.exists(now, true)", "now", "ambiguous-name", "`now` is a reserved word and cannot name an element", "choose another name"),
        ("sum(args.lines, l, l.account) > 0", "l.account", "type-mismatch", "`l.account` has type `string` where `number` is expected", "give a value of type `number`, or change the type"),
        ("b.date.exists(e, true)", "b.date", "type-mismatch", "`b.date` has type `date`, which has no elements to look at", "a list or a set is expected"),
        ("args.lines.amount > 0", "amount", "unknown-member", "`args.lines` has type `list(Line)`, which has no field `amount`", "look at each element: `args.lines.exists(e, e.amount == …)`"),
    ]);
}

#[test]
#[rustfmt::skip]
fn types_and_literals() {
    refuses(|model| model.row("Task"), &[
        ("createdAt <= args.day", "createdAt <= args.day", "incomparable-types", "`createdAt` has type `time`, which does not compare with `args.day` of type `date`", "write `day(createdAt)`"),
        ("args.day >= createdAt", "args.day >= createdAt", "incomparable-types", "`args.day` has type `date`, which does not compare with `createdAt` of type `time`", "write `day(createdAt)`"),
        ("created_at < createdAt", "created_at < createdAt", "incomparable-types", "`created_at` has type `seconds`, which does not compare with `createdAt` of type `time`", "the two are stored in different forms: keep both as one type"),
        ("created_at > 1700000000", "created_at > 1700000000", "incomparable-types", "`created_at` has type `seconds`, which does not compare with `1700000000` of type `int`", "instants compare with instants: `now - days(30)`"),
        (r#"due_date < "tomorrow""#, r#""tomorrow""#, "invalid-literal", r#"`"tomorrow"` is not a date, as in `"2026-02-13"`"#, "write `today + days(1)`"),
        (r#"due_date < "2026-02-30""#, r#""2026-02-30""#, "invalid-literal", r#"`"2026-02-30"` is not a date, as in `"2026-02-13"`"#, ""),
        (r#"createdAt > "2026-02-13""#, r#""2026-02-13""#, "invalid-literal", r#"`"2026-02-13"` is not a time, as in `"2026-02-13T08:00:00Z"`"#, "compare the day of the time: `day(…)`"),
        (r#"period == "2026-13""#, r#""2026-13""#, "invalid-literal", r#"`"2026-13"` is not a month, as in `"2026-02"`"#, ""),
        (r#"task_id == "abc""#, r#""abc""#, "invalid-literal", r#"`"abc"` is not a ulid of 26 characters"#, ""),
        (r#"returned == "GONE""#, r#""GONE""#, "invalid-literal", r#"`"GONE"` is not a date, nor `"AVAILABLE"`"#, ""),
        (r#"status == "done""#, r#""done""#, "not-a-member", r#"`"done"` is not a member of `Status`"#, "the members are pending, in_progress, completed, cancelled"),
        ("status < args.text", "status < args.text", "no-order", "`<` between text and an enum has no order: `Status` sorts by rank", "compare with a member: pending, in_progress, completed, cancelled"),
        ("starred < true", "starred", "no-order", "`starred` has type `bool`, which has no order for `<`", "compare with `==`, and chain comparisons with `&&`"),
        ("1 < stars < 5", "1 < stars < 5", "incomparable-types", "`1 < stars` has type `bool`, which does not compare with `5` of type `int`", "chain comparisons with `&&`: `a < b && b < c`"),
        ("counts < 3", "counts < 3", "incomparable-types", "`counts` has type `map(int)`, which does not compare with `3` of type `int`", ""),
        (r#"stars == "3""#, r#"stars == "3""#, "incomparable-types", r#"`stars` has type `int`, which does not compare with `"3"` of type `string`"#, "write `3` without quotes"),
        ("title == 3", "title == 3", "incomparable-types", "`title` has type `string`, which does not compare with `3` of type `int`", r#"write `"3"` for text"#),
        (r#"title in "abc""#, r#"title in "abc""#, "type-mismatch", r#"`"abc"` has type `string`, which `in` cannot look into"#, r#"it is one text: compare it whole with `"abc" == title`; `in` takes a list or a set"#),
        (r#"stars in ["a"]"#, r#""a""#, "incomparable-types", r#"`stars` has type `int`, which does not compare with `"a"` of type `string`"#, "write `string(stars)`"),
        (r#"tags == "red""#, r#"tags == "red""#, "incomparable-types", r#"`tags` has type `set(string)`, which does not compare with `"red"` of type `string`"#, "write `tags.contains(…)`"),
        ("tags.contains(3)", "3", "type-mismatch", "`3` has type `int` where `string` is expected", "write `string(3)`"),
        ("stars.contains(3)", "stars", "type-mismatch", "`stars` has type `int`, which `contains` cannot look into", "`contains` is for text, lists and sets"),
        (r#"stars.startsWith("3")"#, "stars", "type-mismatch", "`stars` has type `int`, which `startsWith` does not take", "write `string(stars)`"),
        (r#"title + stars == "x""#, "title + stars", "arithmetic-types", "`+` does not go between `title` of type `string` and `stars` of type `int`", "write `string(stars)`"),
        (r#""due " + createdAt"#, r#""due " + createdAt"#, "arithmetic-types", r#"`+` does not go between `"due "` of type `string` and `createdAt` of type `time`"#, "write `string(createdAt)`"),
        (r#"title - "x" == "y""#, r#"title - "x""#, "arithmetic-types", r#"`-` does not go between `title` of type `string` and `"x"` of type `string`"#, ""),
        ("createdAt + 5 < now", "createdAt + 5", "arithmetic-types", "`+` does not go between `createdAt` of type `time` and `5` of type `int`", "say what is counted: `days(5)`, `hours(5)` or `minutes(5)`"),
        ("createdAt - created_at < days(1)", "createdAt - created_at", "arithmetic-types", "`-` does not go between `createdAt` of type `time` and `created_at` of type `seconds`", ""),
        ("today + hours(3) > today", "today + hours(3)", "arithmetic-types", "`today + hours(3)` adds hours or minutes to a date, which has no clock", r#"use `days(…)` or `months(…)`, or start from `time(today, "08:00")`"#),
        ("today + days(1) - minutes(5) > today", "today + days(1) - minutes(5)", "arithmetic-types", "`today + days(1) - minutes(5)` adds hours or minutes to a date, which has no clock", r#"use `days(…)` or `months(…)`, or start from `time(date, "08:00")`"#),
        ("now - today > days(1)", "now - today", "arithmetic-types", "`-` does not go between `now` of type `time` and `today` of type `date`", "write `day(now)`"),
        ("price / 2 > 1", "price / 2", "division-outside-round", "`/` stands outside `round`, and most quotients have no last digit", "write `round(price / 2, 2)`"),
        ("round(price, -1) > 1", "-1", "invalid-literal", "`round` takes a whole number from 0 to 18 here, not `-1`", "it is written `round(number, decimals) -> number`"),
        ("round(price / stars, stars) > 1", "stars", "invalid-literal", "`round` takes a whole number from 0 to 18 here, not `stars`", "it is written `round(number, decimals) -> number`"),
        (r#"geohash(args.at, 13) == "x""#, "13", "invalid-literal", "`geohash` takes a whole number from 1 to 12 here, not `13`", "it is written `geohash(geo, 1..12) -> string`"),
        ("digits(0)", "0", "invalid-literal", "`digits` takes a whole number from 1 to 38 here, not `0`", "it is written `digits(int) -> string`"),
        (r#"time(args.day, "25:00") > now"#, r#""25:00""#, "invalid-literal", r#"`"25:00"` is not a time of day, as in `"08:00"`"#, ""),
        (r#"time(args.day, "8:00") > now"#, r#""8:00""#, "invalid-literal", r#"`"8:00"` is not a time of day, as in `"08:00"`"#, ""),
        ("day(args.day) == today", "args.day", "type-mismatch", "`args.day` has type `date`, which `day` does not take", "it is a date already"),
        (r#"month(title) == "2026-02""#, "title", "type-mismatch", "`title` has type `string`, which `month` does not take", "it is written `month(date | time) -> month`"),
        ("hours(1.5) < days(1)", "1.5", "type-mismatch", "`1.5` has type `number`, which `hours` does not take", "write a whole number"),
        ("near(title, args.at, 5)", "title", "type-mismatch", "`title` has type `string`, which `near` does not take", "it is written `near(geo, geo, km) -> bool`"),
        ("size(stars) > 1", "stars", "type-mismatch", "`stars` has type `int`, which `size` does not take", "it is written `size(string | list | set | map) -> int`"),
        ("string(tags)", "tags", "type-mismatch", "`tags` has type `set(string)`, which `string` does not take", "it is written `string(value) -> string`"),
        ("min(stars, title)", "title", "type-mismatch", "`title` has type `string` where `int` is expected", "give a value of type `int`, or change the type"),
        ("hash(payload) == 1", "payload", "type-mismatch", "`payload` has type `json`, which `hash` does not take", "it is written `hash(value) -> int`"),
        (r#"starred ? 1 : "a""#, r#""a""#, "branches-disagree", r#"`1` has type `int` and `"a"` has type `string`"#, "both results need one type"),
        (r#"[1, "a"]"#, r#""a""#, "branches-disagree", r#"`1` has type `int` and `"a"` has type `string`"#, "both results need one type"),
        ("title && starred", "title", "type-mismatch", "`title` has type `string`, which is not a condition", "compare it with something: `a == b`"),
        ("!title", "title", "type-mismatch", "`title` has type `string`, which is not a condition", "`!` takes the next value alone: write `!(a == b)` or `a != b`"),
        (r#"!status == "pending""#, "status", "type-mismatch", "`status` has type `Status`, which is not a condition", "`!` takes the next value alone: write `!(a == b)` or `a != b`"),
        ("due_date && starred", "due_date", "type-mismatch", "`due_date` has type `date`, which is not a condition", "compare it: `due_date != absent` tests that it is there"),
        ("stars ? 1 : 2", "stars", "type-mismatch", "`stars` has type `int`, which is not a condition", "compare it with something: `a == b`"),
        ("-title", "-title", "arithmetic-types", "`title` has type `string`, which `-` cannot turn round", ""),
        ("title == absent", "title == absent", "never-absent", "`title` is never absent", "leave the test out, or declare what may be absent with `?`"),
        ("absent < due_date", "absent < due_date", "no-order", "`absent` does not go with `<`", "only `== absent` and `!= absent` test for it"),
        ("due_date in absent", "due_date in absent", "no-order", "`absent` does not go with `in`", "only `== absent` and `!= absent` test for it"),
        ("absent + 1", "absent", "may-be-absent", "`absent` is no value to compute with", "`x == absent` and `x != absent` test for it"),
        (r#"lower(absent) == "x""#, "absent", "may-be-absent", "`absent` is no value to compute with", "`x == absent` and `x != absent` test for it"),
        ("stars > absent", "stars > absent", "no-order", "`absent` does not go with `>`", "only `== absent` and `!= absent` test for it"),
        ("title.contains(absent)", "absent", "may-be-absent", "`absent` is no value to compute with", "`x == absent` and `x != absent` test for it"),
        ("flat(tags) == tags", "tags", "type-mismatch", "`tags` has type `set(string)`, which `flat` does not take", "it is written `flat(list of lists) -> list`"),
        ("args.flag && starred", "args.flag", "untested-optional-argument", "the optional argument `args.flag` is used without a test", "test it first: `args.flag != absent && …`, or `args.flag == absent ? … : …`"),
        ("due_date + days(1) > today", "due_date", "may-be-absent", "`due_date` may be absent here", "test it first: `due_date != absent && …`, or `due_date == absent ? … : …`"),
        ("args.from + days(1) > today", "args.from", "untested-optional-argument", "the optional argument `args.from` is used without a test", "test it first: `args.from != absent && …`, or `args.from == absent ? … : …`"),
    ]);
}

#[test]
#[rustfmt::skip]
fn names_where_there_is_no_request() {
    refuses(|model| Scope::new(&model.catalog).with_row(model.id("Task")), &[
        ("args.from < today", "args", "not-available-here", "`args` means nothing here", "there is no request here, so there are no arguments: what one says of a row is stored by `set:` in a write's step"),
        ("user_id == caller.id", "caller", "not-available-here", "`caller` means nothing here", "there is no caller here: who it was is stored by `set:` in a write's step"),
        ("request.key == title", "request.key", "not-available-here", "`request.key` means nothing here", "only idempotency records and writes with idempotency know it"),
    ]);
}

#[test]
#[rustfmt::skip]
fn names_that_are_bound_and_attributes() {
    refuses(|model| model.row("Task").with_bound("status", Type::text(), false), &[
        ("status == \"x\"", "status", "ambiguous-name", "`status` is both an attribute of `Task` and bound here", "rename the bound one, or write `row.status` for the attribute"),
        ("args.lines.exists(title, true)", "title", "ambiguous-name", "`title` is an attribute and cannot name an element", "choose another name"),
    ]);
    let model = Model::new();
    accepts(&model.row("Task").with_bound("status", Type::text(), false), "row.status == \"pending\"");
}

#[test]
fn values_that_do_not_go_where_they_are_set() {
    let model = Model::new();
    let scope = model.write();
    let status = words("Status", &["pending", "completed"]);
    for (source, ty, message, help) in [
        (
            "pendin",
            &status,
            "`pendin` means nothing here",
            "did you mean `\"pending\"`?",
        ),
        (
            "open",
            &status,
            "`open` means nothing here",
            "the members are pending, completed",
        ),
        (
            "\"open\"",
            &status,
            "`\"open\"` is not a member of `Status`",
            "the members are pending, completed",
        ),
        (
            "caller.role",
            &status,
            "`caller.role` has type `string` where `Status` is expected",
            "the members are pending, completed",
        ),
        (
            "approved",
            &Type::text(),
            "`approved` means nothing here",
            "write `\"approved\"` for the text",
        ),
        (
            "b.date",
            &Type::text(),
            "`b.date` has type `date` where `string` is expected",
            "write `string(b.date)`",
        ),
        (
            "b",
            &Type::text(),
            "`b` has type `Booking` where `string` is expected",
            "name one of its attributes: `b.…`",
        ),
        (
            "now",
            &Type::Date,
            "`now` has type `time` where `date` is expected",
            "write `day(now)`",
        ),
        (
            "today",
            &Type::Seconds,
            "`today` has type `date` where `seconds` is expected",
            "write `time(today, \"00:00\")`",
        ),
        ("0", &int(1, 5), "`0` is outside `1..5`", ""),
        ("args.amount > 3 ? 9 : 1", &int(1, 5), "`9` is outside `1..5`", ""),
        ("\"\"", &string(1, 20), "text of 0 characters is outside `1..20`", ""),
        (
            "1.5",
            &Type::int(),
            "`1.5` has type `number` where `int` is expected",
            "write a whole number",
        ),
        (
            "absent",
            &Type::int(),
            "`target` is required and cannot be `absent`",
            "declare `target` with `?` to let it be removed",
        ),
        (
            "event.title",
            &Type::text(),
            "`event.title` may be absent, and `target` is required",
            "test it first: `event.title != absent && …`, or `event.title == absent ? … : …`",
        ),
        (
            "{lat: 1, city: \"x\"}",
            &Type::Geo(None),
            "`{lat: 1, city: \"x\"}` has type `object` where `geo` is expected",
            "give a value of type `geo`, or change the type",
        ),
    ] {
        let mut out = Diagnostics::default();
        check_value(
            &text(source),
            &scope,
            Target {
                name: "target",
                ty,
                optional: false,
            },
            &mut out,
        );
        let found = out.into_sorted();
        assert_eq!(found.len(), 1, "{source}: {found:?}");
        assert_eq!(
            (found[0].message.as_str(), found[0].help.as_deref().unwrap_or("")),
            (message, help),
            "{source}"
        );
    }
}

#[test]
fn a_condition_is_true_or_false() {
    let model = Model::new();
    let scope = model.row("Task");
    for (source, message) in [
        ("title", "`title` has type `string`, which is not a condition"),
        (
            "archived",
            "`archived` may be absent, and is then neither true nor false",
        ),
        ("args.flag", "the optional argument `args.flag` is used without a test"),
        ("absent", "`absent` is not a condition"),
    ] {
        assert_eq!(findings(&scope, source)[0].message, message, "{source}");
    }
}
