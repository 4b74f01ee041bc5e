//! Who is let in, and to what.

use serde_json::{Value as Json, json};

use crate::client::send;
use crate::running::{Options, Running, SHARED, now, start, token};
use crate::signing::{base64url, published_es256, sign_es256};

pub fn with_token(running: &Running, system: &str, path: &str, token: &str) -> (u16, String) {
    let bearer = format!("Bearer {token}");
    let reply = send(
        running.address,
        "GET",
        &format!("/{system}{path}"),
        &[("authorization", &bearer)],
        b"",
    );
    let problem = if reply.status == 200 {
        String::new()
    } else {
        reply.problem()
    };
    if reply.status == 401 {
        assert!(reply.header("www-authenticate").is_some());
    }
    (reply.status, problem)
}

pub fn refused() -> (u16, String) {
    (401, "invalid_credentials".to_owned())
}

/// A token of any header and claims, signed by nobody.
fn unsigned(header: &Json, claims: &Json) -> String {
    let part = |json: &Json| base64url(json.to_string().as_bytes());
    format!("{}.{}.", part(header), part(claims))
}

#[test]
fn tokens_that_are_not_good_are_refused() {
    let tasks = "/api/v1/tasks?limit=1";
    let good = token("todo", &[("sub", "ada")]);
    let sign = |token: &singlet_http::auth::LocalToken| token.sign_token(&SHARED.secret).unwrap();
    assert_eq!(with_token(&SHARED, "todo", tasks, &sign(&good)).0, 200);
    let mut expired = good.clone();
    expired.expires = now() - 120;
    let other_secret = singlet_http::auth::Secret::new("another secret, as long as it").unwrap();
    let none = unsigned(
        &json!({"alg": "none", "typ": "JWT"}),
        &json!({"sub": "ada", "aud": "todo", "exp": now() + 60}),
    );
    let signed = sign(&good);
    let (head, rest) = signed.split_once('.').unwrap();
    let (_, signature) = rest.split_once('.').unwrap();
    let linus = base64url(
        json!({"sub": "linus", "aud": "todo", "exp": now() + 60})
            .to_string()
            .as_bytes(),
    );
    let nobody = token("todo", &[]);
    for (case, text) in [
        ("expired", sign(&expired)),
        ("another audience", sign(&token("booking", &[("sub", "ada")]))),
        ("another secret", good.sign_token(&other_secret).unwrap()),
        ("no algorithm", none.clone()),
        ("no algorithm, with a signature", format!("{none}{signature}")),
        ("claims changed", format!("{head}.{linus}.{signature}")),
        ("no signature", format!("{head}.{rest}").replace(signature, "")),
        ("nobody's", sign(&nobody)),
        ("no token", "abc".to_owned()),
        ("too many dots", format!("{signed}.x")),
    ] {
        assert_eq!(with_token(&SHARED, "todo", tasks, &text), refused(), "{case}");
    }
    let basic = send(
        SHARED.address,
        "GET",
        "/todo/api/v1/tasks",
        &[("authorization", "Basic YTpi")],
        b"",
    );
    assert_eq!((basic.status, basic.problem().as_str()), (401, "invalid_credentials"));
    let twice = [("authorization", "Bearer a"), ("authorization", "Bearer b")];
    assert_eq!(
        send(SHARED.address, "GET", "/todo/api/v1/tasks", &twice, b"").status,
        401
    );
    let nothing = SHARED.get("todo", "-", tasks);
    assert_eq!((nothing.status, nothing.problem().as_str()), (401, "unauthenticated"));
    assert_eq!(nothing.header("www-authenticate"), Some("Bearer"));
}

#[test]
fn a_role_is_what_the_token_says_and_only_as_one_word() {
    let admin = "/admin/bookings?status=pending";
    assert_eq!(SHARED.get("booking", "elena/admin", admin).status, 200);
    let user = SHARED.get("booking", "paolo/user", admin);
    assert_eq!((user.status, user.problem().as_str()), (403, "forbidden"));
    assert_eq!(SHARED.get("booking", "paolo", admin).status, 403);
    assert_eq!(SHARED.get("booking", "paolo/Admin", admin).status, 403);
    assert_eq!(SHARED.get("booking", "-", admin).status, 401);
    // The row of the user `elena` says `admin`; her token does not.
    assert_eq!(SHARED.get("booking", "elena/user", admin).status, 403);
}

#[test]
fn an_api_key_is_known_or_refused_and_has_its_role() {
    let countries = "/country/api/v1/countries?limit=1";
    let with_key = |key: &str| send(SHARED.address, "GET", countries, &[("x-api-key", key)], b"").status;
    let reader = SHARED.secret.local_api_key("country", "reader");
    assert_eq!(with_key(&reader), 200);
    assert_eq!(with_key(&reader[..reader.len() - 1]), 401);
    assert_eq!(with_key(""), 401);
    assert_eq!(with_key(&SHARED.secret.local_api_key("todo", "reader")), 401);
    assert_eq!(SHARED.get("country", "-", "/api/v1/countries").status, 401);
    let twice = [("x-api-key", reader.as_str()), ("x-api-key", reader.as_str())];
    assert_eq!(send(SHARED.address, "GET", countries, &twice, b"").status, 401);
    let write = SHARED.call("country", "reader", "DELETE", "/api/v1/countries/code/NO", &[], "");
    assert_eq!((write.status, write.problem().as_str()), (403, "forbidden"));
}

#[test]
fn nobody_sees_what_is_anothers() {
    let not_found = |caller, system, path: &str| {
        let reply = SHARED.get(system, caller, path);
        assert_eq!(
            (reply.status, reply.problem().as_str()),
            (404, "not_found"),
            "{caller} {path}"
        );
    };
    not_found("linus", "todo", "/api/v1/tasks/01JQX8MNM83M51DFW44W3RPXTV");
    not_found("ines", "wardrobe", "/items/01JH396XHCYR31ECBC9A43V1VX");
    not_found("-", "wardrobe", "/items/01JH396XHCYR31ECBC9A43V1VX");
    not_found("anna/user", "booking", "/bookings/01JRZSMMYXVCDHN1DEADHV7KND");
    not_found("anna/user", "booking", "/bookings/01JRZSMMYXVCDHN1DEADHV7KND/payments");
    not_found("anna/user", "booking", "/bookings/01JRZSMMYXVCDHN1DEADHV7KND/lockcode");
    not_found("kasia", "ecobid", "/reservations/01KHAEMZQ0YVFB9JZ2XTS63NE6");
    assert_eq!(SHARED.get("wardrobe", "ines", "/users/tomas/items").status, 403);
    assert_eq!(SHARED.get("wardrobe", "ines", "/users/tomas/activities").status, 403);
    assert_eq!(SHARED.get("wardrobe", "-", "/users/tomas/items").status, 401);
}

#[test]
fn a_cursor_is_good_for_its_caller_its_read_and_its_arguments() {
    let first = SHARED.get("todo", "ada", "/api/v1/tasks?status=pending&limit=2").json();
    let cursor = first["next"].as_str().unwrap().to_owned();
    let with = |caller, path: &str| {
        let reply = SHARED.get("todo", caller, &format!("{path}&cursor={cursor}"));
        (
            reply.status,
            if reply.status == 200 {
                String::new()
            } else {
                reply.problem()
            },
        )
    };
    let refused = (400, "invalid_cursor".to_owned());
    assert_eq!(with("ada", "/api/v1/tasks?status=pending&limit=2").0, 200);
    assert_eq!(with("linus", "/api/v1/tasks?status=pending&limit=2"), refused);
    assert_eq!(with("ada", "/api/v1/tasks?status=completed&limit=2"), refused);
    assert_eq!(with("ada", "/api/v1/tasks?sort=priority&limit=2"), refused);
    let mut bytes = cursor.clone().into_bytes();
    let middle = bytes.len() / 2;
    bytes[middle] = if bytes[middle] == b'A' { b'B' } else { b'A' };
    let forged = String::from_utf8(bytes).unwrap();
    let reply = SHARED.get(
        "todo",
        "ada",
        &format!("/api/v1/tasks?status=pending&limit=2&cursor={forged}"),
    );
    assert_eq!(reply.problem(), "invalid_cursor");
}

/// A caller, a path part or a parameter with a delimiter is no other key.
#[test]
fn a_delimiter_reaches_no_other_partition() {
    let empty = |system, caller: &str, path: &str| {
        let reply = SHARED.get(system, caller, path);
        assert_eq!(reply.status, 200, "{caller} {path}: {}", reply.text());
        assert_eq!(reply.json()["items"].as_array().unwrap().len(), 0, "{caller} {path}");
    };
    empty("todo", "ada#", "/api/v1/tasks");
    empty("todo", "ada%23TASK", "/api/v1/tasks");
    empty("todo", "ada", "/api/v1/tasks?category=work%23");
    empty("todo", "ada", "/api/v1/tasks?category=wor%2401");
    empty(
        "wardrobe",
        "tomas#SEASON#winter",
        "/users/tomas%23SEASON%23winter/items",
    );
    empty("ecobid", "kasia", "/users/tomek%23/items");
    let other = SHARED.get("wardrobe", "ines", "/users/ines%2F..%2Ftomas/items");
    assert_eq!(other.status, 403);
}

#[test]
fn public_keys_verify_tokens_and_the_secret_no_longer_does() {
    let jwks = json!({"keys": [published_es256("one")]});
    let running = start(Options {
        jwks: Some(jwks.to_string()),
        only: Some(&["todo"]),
        ..Options::default()
    });
    let by_secret = token("todo", &[("sub", "ada")]).sign_token(&running.secret).unwrap();
    assert_eq!(with_token(&running, "todo", "/api/v1/tasks", &by_secret), refused());
    // The public key as an HMAC secret is the classic confusion.
    let confused = singlet_http::auth::Secret::new(&jwks.to_string()).unwrap();
    let by_public = token("todo", &[("sub", "ada")]).sign_token(&confused).unwrap();
    assert_eq!(with_token(&running, "todo", "/api/v1/tasks", &by_public), refused());
    let signed = sign_es256(&json!({"sub": "ada", "aud": "todo", "exp": now() + 60}), "one");
    assert_eq!(with_token(&running, "todo", "/api/v1/tasks?limit=1", &signed).0, 200);
    let other_key = sign_es256(&json!({"sub": "ada", "aud": "todo", "exp": now() + 60}), "two");
    assert_eq!(
        with_token(&running, "todo", "/api/v1/tasks?limit=1", &other_key),
        refused()
    );
}
