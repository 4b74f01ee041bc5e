//! Tokens as Cognito, Auth0 and Keycloak make them, from an issuer that is found by discovery: who is let in, and who is not.

use std::time::Duration;

use serde_json::{Value as Json, json};
use singlet_http::TlsFiles;
use singlet_http::auth::{FetchedKeys, JwksTiming, KeyRoute};

use crate::callers::{refused, with_token};
use crate::client::send;
use crate::issuing::{Issuer, start_proxy};
use crate::running::{Options, Running, now, start};
use crate::signing::{RsaKey, base64url, published_es256, sign_es256, sign_hs256};

/// The helpdesk of these tests, with who calls as each issuer has it. `strict` wants Cognito's access tokens alone.
pub fn model_text(name: &str) -> String {
    let callers = match name {
        "cognito" => {
            r#"jwt: {audience: 4kz9client, claims: {id: sub, groups: {claim: cognito:groups, type: list(string)}}}"#
        }
        "strict" => {
            r#"jwt: {audience: 4kz9client, token_use: access, claims: {id: sub, groups: {claim: "cognito:groups", type: list(string)}}}"#
        }
        "auth0" => {
            r#"jwt: {audience: "https://helpdesk.example/api", claims: {id: sub, groups: {claim: "https://helpdesk.example/groups", type: list(string)}, scopes: {claim: scope, words: true}}}"#
        }
        _ => {
            r#"jwt: {audience: helpdesk-web, audience_in: azp, claims: {id: sub, groups: {claim: realm_access.roles, type: list(string)}, own: {claim: [resource_access, helpdesk-web, roles], type: list(string)}}}"#
        }
    };
    include_str!("models/helpdesk.yaml")
        .replace("NAME", name)
        .replace("CALLERS", callers)
}

/// No token makes keys be fetched more often than that, and nothing else does.
fn on_demand(pause: Duration) -> JwksTiming {
    JwksTiming {
        pause_min: pause,
        refresh_every: Duration::from_secs(3600),
        ..JwksTiming::default()
    }
}

fn serve(issuer: &Issuer, systems: &'static [&'static str], route: KeyRoute, pause: Duration) -> Running {
    start(Options {
        issuer: Some(issuer.name.clone()),
        discovered: Some((on_demand(pause), route)),
        only: Some(systems),
        ..Options::default()
    })
}

fn with(claims: &Json, changes: &Json) -> Json {
    let mut claims = claims.as_object().unwrap().clone();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Json::Null => claims.remove(name),
            value => claims.insert(name.clone(), value.clone()),
        };
    }
    Json::Object(claims)
}

fn cognito_access(issuer: &str) -> Json {
    json!({
        "sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "cognito:groups": ["desk", "night"], "iss": issuer,
        "client_id": "4kz9client", "origin_jti": "5b9f50a3", "event_id": "64f513be", "token_use": "access",
        "scope": "openid email", "auth_time": now() - 60, "exp": now() + 3600, "iat": now() - 60, "jti": "a", "username": "ada",
    })
}

fn cognito_id(issuer: &str) -> Json {
    json!({
        "sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "cognito:groups": ["desk"], "email_verified": true, "iss": issuer,
        "cognito:username": "ada", "aud": "4kz9client", "event_id": "64f513be", "token_use": "id", "auth_time": now() - 60,
        "exp": now() + 3600, "iat": now() - 60, "email": "ada@example.com",
    })
}

fn auth0_access(issuer: &str) -> Json {
    json!({
        "iss": issuer, "sub": "auth0|123456", "aud": ["https://helpdesk.example/api", "https://tenant.example/userinfo"],
        "iat": now() - 60, "exp": now() + 3600, "azp": "web", "scope": "openid read:tickets",
        "https://helpdesk.example/groups": ["desk"],
    })
}

fn keycloak_access(issuer: &str) -> Json {
    json!({
        "exp": now() + 300, "iat": now() - 1, "jti": "b", "iss": issuer, "aud": "account", "sub": "f:1:ada", "typ": "Bearer",
        "azp": "helpdesk-web", "session_state": "s", "acr": "1", "realm_access": {"roles": ["offline_access", "desk"]},
        "resource_access": {"helpdesk-web": {"roles": ["lead"]}, "account": {"roles": ["manage-account"]}}, "scope": "email profile",
    })
}

const TICKETS: &str = "/tickets?team=desk";

#[test]
fn tokens_of_cognito_auth0_and_keycloak_are_admitted_and_wrong_ones_are_not() {
    let issuer = Issuer::start("/", None);
    let key = RsaKey::numbered(1, "current");
    issuer.publishes(&[key.published(), published_es256("elliptic")]);
    let running = serve(
        &issuer,
        &["cognito", "strict", "auth0", "keycloak"],
        KeyRoute::default(),
        Duration::from_secs(60),
    );
    let name = issuer.name.as_str();
    let (access, id) = (cognito_access(name), cognito_id(name));
    let (auth0, keycloak) = (auth0_access(name), keycloak_access(name));
    let asks = |system: &str, token: &str| with_token(&running, system, TICKETS, token);
    for (system, claims) in [
        ("cognito", &access),
        ("cognito", &id),
        ("strict", &access),
        ("auth0", &auth0),
        ("auth0", &with(&auth0, &json!({"aud": "https://helpdesk.example/api"}))),
        ("keycloak", &keycloak),
    ] {
        assert_eq!(
            asks(system, &key.sign(claims)),
            (200, String::new()),
            "{system} {claims}"
        );
        assert_eq!(
            asks(system, &sign_es256(claims, "elliptic")).0,
            200,
            "{system} {claims}"
        );
    }
    let of_access = json!({"alg": "RS256", "typ": "at+jwt", "kid": "current"});
    assert_eq!(asks("strict", &key.sign_under(&of_access, &access)).0, 200);

    let mut wrong: Vec<(String, &str, String)> = Vec::new();
    for (system, good) in [
        ("cognito", &access),
        ("cognito", &id),
        ("auth0", &auth0),
        ("keycloak", &keycloak),
    ] {
        for changes in [
            json!({"iss": null}),
            json!({"iss": "https://elsewhere.example/"}),
            json!({"iss": name.trim_end_matches('/')}),
            json!({"iss": [name]}),
            json!({"exp": null}),
            json!({"exp": now() - 120}),
            json!({"exp": "tomorrow"}),
            json!({"nbf": now() + 600}),
            json!({"sub": null}),
            json!({"sub": ""}),
            json!({"sub": 7}),
            json!({"sub": ["ada"]}),
            json!({"token_use": "refresh"}),
            json!({"token_use": ["access"]}),
            json!({"typ": "Refresh"}),
            json!({"typ": "Logout"}),
        ] {
            wrong.push((changes.to_string(), system, key.sign(&with(good, &changes))));
        }
        for (what, header) in [
            ("no algorithm", json!({"alg": "none", "typ": "JWT", "kid": "current"})),
            (
                "another algorithm",
                json!({"alg": "RS384", "typ": "JWT", "kid": "current"}),
            ),
            (
                "a kind that takes another key",
                json!({"alg": "ES256", "typ": "JWT", "kid": "current"}),
            ),
            (
                "a secret's algorithm",
                json!({"alg": "HS256", "typ": "JWT", "kid": "current"}),
            ),
            ("an unknown key", json!({"alg": "RS256", "typ": "JWT", "kid": "other"})),
            (
                "for logging out",
                json!({"alg": "RS256", "typ": "logout+jwt", "kid": "current"}),
            ),
            (
                "what must be understood",
                json!({"alg": "RS256", "kid": "current", "crit": ["b64"], "b64": false}),
            ),
        ] {
            wrong.push((what.to_owned(), system, key.sign_under(&header, good)));
        }
        let published = key.published();
        let modulus = published["n"].as_str().unwrap();
        for secret in [
            published.to_string().as_bytes(),
            modulus.as_bytes(),
            b"",
            json!({"keys": [published.clone()]}).to_string().as_bytes(),
        ] {
            wrong.push((
                "the public key as a secret".to_owned(),
                system,
                sign_hs256(secret, "current", good),
            ));
        }
        let stranger = RsaKey::numbered(2, "current");
        wrong.push(("another's key under its name".to_owned(), system, stranger.sign(good)));
        let signed = key.sign(good);
        let (head, rest) = signed.split_once('.').unwrap();
        let (_, signature) = rest.split_once('.').unwrap();
        let changed = base64url(with(good, &json!({"sub": "eve"})).to_string().as_bytes());
        wrong.push((
            "claims changed".to_owned(),
            system,
            format!("{head}.{changed}.{signature}"),
        ));
        wrong.push(("no signature".to_owned(), system, signed.replace(signature, "")));
    }
    for changes in [
        json!({"client_id": "other"}),
        json!({"client_id": null}),
        json!({"client_id": null, "azp": "4kz9client"}),
        json!({"client_id": {"4kz9client": true}}),
        json!({"aud": "other"}),
        json!({"aud": []}),
        json!({"token_use": null}),
    ] {
        wrong.push((changes.to_string(), "cognito", key.sign(&with(&access, &changes))));
    }
    for changes in [
        json!({"aud": null}),
        json!({"aud": null, "client_id": "4kz9client"}),
        json!({"aud": "4kz9client2"}),
        json!({"aud": ["other"]}),
        json!({"aud": ["4kz9client", 1]}),
        json!({"aud": {"4kz9client": 1}}),
    ] {
        wrong.push((changes.to_string(), "cognito", key.sign(&with(&id, &changes))));
    }
    wrong.push(("an id token where access is wanted".to_owned(), "strict", key.sign(&id)));
    let neither = json!({"token_use": null, "aud": "4kz9client"});
    wrong.push(("neither".to_owned(), "strict", key.sign(&with(&access, &neither))));
    let of_id = with(&access, &json!({"token_use": "id", "aud": "4kz9client"}));
    wrong.push(("both".to_owned(), "strict", key.sign_under(&of_access, &of_id)));
    for changes in [
        json!({"aud": "https://helpdesk.example/api/"}),
        json!({"aud": ["https://tenant.example/userinfo"]}),
        json!({"aud": null, "azp": "https://helpdesk.example/api"}),
    ] {
        wrong.push((changes.to_string(), "auth0", key.sign(&with(&auth0, &changes))));
    }
    for changes in [
        json!({"azp": "other"}),
        json!({"azp": null}),
        json!({"azp": null, "aud": "helpdesk-web"}),
        json!({"azp": {"helpdesk-web": true}}),
    ] {
        wrong.push((changes.to_string(), "keycloak", key.sign(&with(&keycloak, &changes))));
    }
    assert!(wrong.len() >= 40, "{}", wrong.len());
    for (what, system, token) in &wrong {
        assert_eq!(asks(system, token), refused(), "{system}: {what}");
    }
    println!("{} wrong tokens refused", wrong.len());
}

#[test]
fn membership_is_never_a_substring_whatever_the_shape_of_the_claim() {
    let issuer = Issuer::start("/realms/desk", None);
    let key = RsaKey::numbered(1, "one");
    issuer.publishes(&[key.published()]);
    let running = serve(
        &issuer,
        &["cognito", "keycloak"],
        KeyRoute::default(),
        Duration::from_secs(60),
    );
    let name = issuer.name.as_str();
    let (access, keycloak) = (cognito_access(name), keycloak_access(name));
    let of_cognito = |groups: &Json| with(&access, &json!({"cognito:groups": groups}));
    let of_keycloak = |groups: &Json| with(&keycloak, &json!({"realm_access": {"roles": groups}}));
    let forbidden = (403, "forbidden".to_owned());
    let shapes = [
        json!(["helpdesk-guest"]),
        json!(["helpdesk", "desk-guest", "DESK", "desk ", " desk", "de", ""]),
        json!("helpdesk-guest"),
        json!("desk"),
        json!("desk,night"),
        json!("[\"desk\"]"),
        json!(["desk", 1]),
        json!(["desk", null]),
        json!([["desk"]]),
        json!({"desk": true}),
        json!(true),
        json!(4),
        Json::Null,
    ];
    for shape in &shapes {
        for (system, token) in [("cognito", of_cognito(shape)), ("keycloak", of_keycloak(shape))] {
            let asked = with_token(&running, system, TICKETS, &key.sign(&token));
            assert_eq!(asked, forbidden, "{system} {shape}");
            // What is not known of a caller does not admit under `!` either; a list without the word does.
            let is_list = shape.as_array().is_some_and(|all| all.iter().all(Json::is_string));
            let untouched = with_token(&running, system, "/untouched?team=desk", &key.sign(&token));
            let expected = if is_list {
                (200, String::new())
            } else {
                forbidden.clone()
            };
            assert_eq!(untouched, expected, "{system} {shape}");
        }
    }
    let blocked = key.sign(&of_cognito(&json!(["blocked"])));
    assert_eq!(
        with_token(&running, "cognito", "/untouched?team=desk", &blocked),
        forbidden
    );
    let beside = with(
        &keycloak,
        &json!({"realm_access": null, "realm_access.roles": ["desk"], "roles": ["desk"]}),
    );
    assert_eq!(with_token(&running, "keycloak", TICKETS, &key.sign(&beside)), forbidden);
}

#[test]
fn lists_decide_in_conditions_and_in_keys() {
    let issuer = Issuer::start("", None);
    let key = RsaKey::numbered(1, "one");
    issuer.publishes(&[key.published()]);
    let running = serve(&issuer, &["cognito"], KeyRoute::default(), Duration::from_secs(60));
    let somebody = |sub: &str, groups: Json| {
        let claims = with(
            &cognito_access(&issuer.name),
            &json!({"sub": sub, "cognito:groups": groups}),
        );
        format!("Bearer {}", key.sign(&claims))
    };
    let call = |who: &str, method: &str, path: &str, body: Json| {
        let headers = [("authorization", who), ("content-type", "application/json")];
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        send(
            running.address,
            method,
            &format!("/cognito{path}"),
            &headers,
            body.as_bytes(),
        )
    };
    let ada = somebody("ada", json!(["desk", "night"]));
    for (team, number) in [("desk", 1), ("helpdesk", 2), ("night", 3)] {
        let made = call(
            &ada,
            "POST",
            "/tickets",
            json!({"team": team, "number": number, "title": "x"}),
        );
        assert_eq!(made.status, 201, "{}", made.text());
    }
    let teams = |who: &str| -> Vec<String> {
        let page = call(who, "GET", "/ours", Json::Null).json();
        let items = page["items"].as_array().unwrap().clone();
        items
            .iter()
            .map(|item| item["team"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut of_ada = teams(&ada);
    of_ada.sort();
    assert_eq!(of_ada, ["desk", "night"]);
    assert_eq!(teams(&somebody("eve", json!(["helpdesk"]))), ["helpdesk"]);
    assert!(teams(&somebody("eve", json!([]))).is_empty());
    assert!(teams(&somebody("eve", json!("desk"))).is_empty());
    assert!(teams(&somebody("eve", Json::Null)).is_empty());
    // Of a write: by a group that the row names, by being its owner, and else not.
    let title = json!({"title": "y"});
    let retitle = |who: &str, path: &str| call(who, "PUT", path, title.clone()).status;
    assert_eq!(retitle(&somebody("bo", json!(["night"])), "/tickets/night/3"), 200);
    assert_eq!(retitle(&somebody("ada", Json::Null), "/tickets/night/3"), 200);
    for groups in [
        json!(["helpdesk", "nights"]),
        json!("night"),
        json!([]),
        Json::Null,
        json!(["night", 1]),
    ] {
        let tried = call(
            &somebody("bo", groups.clone()),
            "PUT",
            "/tickets/night/3",
            title.clone(),
        );
        assert_eq!((tried.status, tried.problem().as_str()), (409, "not_yours"), "{groups}");
    }
}

#[test]
fn keys_of_an_issuer_rotate_and_stay_while_it_is_down() {
    let issuer = Issuer::start("/", None);
    let (old, new) = (RsaKey::numbered(1, "old"), RsaKey::numbered(2, "new"));
    issuer.publishes(&[old.published()]);
    let running = serve(&issuer, &["cognito"], KeyRoute::default(), Duration::ZERO);
    let claims = cognito_access(&issuer.name);
    let asks = |key: &RsaKey| with_token(&running, "cognito", TICKETS, &key.sign(&claims));
    // The description, and the keys.
    assert_eq!((asks(&old).0, issuer.asked()), (200, 2));
    issuer.is_down(true);
    assert_eq!(asks(&new), refused());
    assert_eq!(asks(&old).0, 200);
    issuer.is_down(false);
    issuer.describes(json!({"issuer": "https://elsewhere.example/", "jwks_uri": "https://elsewhere.example/keys"}));
    issuer.publishes(&[new.published()]);
    assert_eq!(asks(&new), refused(), "it does not speak for this issuer any more");
    assert_eq!(asks(&old).0, 200);
    let keys = issuer.name.trim_end_matches('/').to_owned() + "/keys";
    issuer.describes(json!({"issuer": issuer.name, "jwks_uri": keys}));
    assert_eq!(asks(&new).0, 200);
    assert_eq!(asks(&old), refused(), "it is published no more");
}

#[test]
fn tokens_of_unknown_keys_make_the_issuer_be_asked_once_a_while() {
    let issuer = Issuer::start("/", None);
    let key = RsaKey::numbered(1, "one");
    issuer.publishes(&[key.published()]);
    let running = serve(&issuer, &["cognito"], KeyRoute::default(), Duration::from_secs(60));
    let stranger = RsaKey::numbered(2, "two");
    for _ in 0..10 {
        let token = stranger.sign(&cognito_access(&issuer.name));
        assert_eq!(with_token(&running, "cognito", TICKETS, &token), refused());
    }
    assert_eq!(issuer.asked(), 2);
}

fn encrypted() -> Issuer {
    let files = TlsFiles {
        certificates: include_bytes!("tls/issuer.pem").to_vec(),
        key: include_bytes!("tls/issuer-key.pem").to_vec(),
    };
    Issuer::start("/", Some(files))
}

fn vouched() -> KeyRoute {
    KeyRoute::default().vouched_by(Some(include_bytes!("tls/authority.pem").to_vec()))
}

#[test]
fn keys_come_by_tls_through_a_proxy_that_is_named() {
    let issuer = encrypted();
    let key = RsaKey::numbered(1, "one");
    issuer.publishes(&[key.published()]);
    let (address, asked) = start_proxy("Basic YWRhOnMzY3JldA==");
    let route = vouched().through_proxy(&format!("http://ada:s3cret@{address}"), "");
    let running = serve(&issuer, &["cognito"], route, Duration::ZERO);
    let token = key.sign(&cognito_access(&issuer.name));
    assert_eq!(with_token(&running, "cognito", TICKETS, &token).0, 200);
    let authority = issuer.name.trim_start_matches("https://").trim_end_matches('/');
    let connect = format!("CONNECT {authority} HTTP/1.1");
    assert_eq!(*asked.lock().unwrap(), [connect.clone(), connect]);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_and_one_that_is_not_meant_is_not_asked() {
    let issuer = encrypted();
    issuer.publishes(&[published_es256("one")]);
    let start = async |route: KeyRoute| {
        let started = FetchedKeys::start_of_issuer(&issuer.name, JwksTiming::default(), route).await;
        started.map(|_| ()).map_err(|error| error.to_string())
    };
    let (address, asked) = start_proxy("Basic YWRhOnMzY3JldA==");
    let proxy = format!("http://{address}");
    let refused = start(vouched().through_proxy(&proxy, "")).await.unwrap_err();
    assert!(refused.starts_with("the proxy gives no connection: "), "{refused}");
    assert_eq!(asked.lock().unwrap().len(), 1);
    assert_eq!(start(vouched().through_proxy(&proxy, "localhost")).await, Ok(()));
    assert_eq!(asked.lock().unwrap().len(), 1);
    let socks = start(vouched().through_proxy("socks5://127.0.0.1:9", ""))
        .await
        .unwrap_err();
    assert_eq!(
        socks,
        "the proxy gives no connection: only proxies at `http://` addresses are spoken to"
    );
    // Nobody vouches for it: not through a proxy either.
    let unknown = KeyRoute::default().vouched_by(Some(include_bytes!("tls/certificate.pem").to_vec()));
    let through = unknown.through_proxy(&format!("http://ada:s3cret@{address}"), "");
    assert!(start(through).await.unwrap_err().starts_with("no TLS"));
}

#[tokio::test]
async fn an_issuer_that_cannot_be_trusted_is_refused_at_the_start() {
    let start = async |issuer: &str, route: KeyRoute| {
        let started = FetchedKeys::start_of_issuer(issuer, JwksTiming::default(), route).await;
        let error = started.err().unwrap_or_else(|| panic!("`{issuer}` was taken"));
        error.to_string()
    };
    let none = KeyRoute::default;
    assert!(start("http://login.example/", none()).await.contains("`https://`"));
    let issuer = Issuer::start("/", None);
    issuer.publishes(&[published_es256("one")]);
    // As Auth0's: the name has a stroke at its end, and tokens have it too.
    let without = issuer.name.trim_end_matches('/').to_owned();
    assert_eq!(
        start(&without, none()).await,
        format!(
            "the issuer calls itself `{}`, and so its tokens do: write it so",
            issuer.name
        )
    );
    for (described, reason) in [
        (
            json!({"issuer": issuer.name}),
            "the issuer's description names no `jwks_uri`",
        ),
        (
            json!({"issuer": [issuer.name], "jwks_uri": "x"}),
            "the issuer's description does not say who it is",
        ),
        (json!([]), "the issuer's description does not say who it is"),
        (
            json!({"issuer": issuer.name, "jwks_uri": "http://login.example/keys"}),
            "keys are fetched by `https://`, or by `http://` on this machine",
        ),
        (
            json!({"issuer": issuer.name, "jwks_uri": "ftp://login.example/keys"}),
            "keys are fetched by `https://`, or by `http://` on this machine",
        ),
    ] {
        issuer.describes(described);
        assert_eq!(start(&issuer.name, none()).await, reason);
    }
    issuer.is_down(true);
    assert_eq!(
        start(&issuer.name, none()).await,
        "the answer is 503 Service Unavailable"
    );
    // Found by TLS, and then in clear: who is on the way could put in a key.
    let encrypted = encrypted();
    encrypted.publishes(&[published_es256("one")]);
    encrypted.describes(json!({"issuer": encrypted.name, "jwks_uri": "http://localhost/keys"}));
    assert!(start(&encrypted.name, vouched()).await.contains("`https://`"));
}
