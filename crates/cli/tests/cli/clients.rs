//! Clients that nobody here wrote. Of the service, made from the OpenAPI documents: requests by schemathesis, and a generated
//! client for each system; the client in TypeScript that is written here, seen by `tsc`; the verifier of Standard Webhooks, and `EventSource`; readers of Delta tables; the console in a browser; the client of the Language Server Protocol and the inspector of the Model Context Protocol; the messages of OpenTelemetry; `systemd-analyze`; cfn-lint and the CDK. Of DynamoDB's protocol: boto3, the AWS SDK for JavaScript, ElectroDB, and a public suite. They come from
//! PyPI and npm; where they cannot be had, a loud line says so.

use std::io::Write;
use std::process::{Command, Stdio};

/// The status of a script that cannot have what it needs.
const SKIPPED: i32 = 77;

/// Generated cases for each operation: enough to notice what broke, few enough for every run of the tests.
const CASES: &str = "3";

/// Fewer cases in all than this, and something was not asked at all.
const CASES_IN_ALL_MIN: usize = 1_000;

/// What a script prints; nothing where it was skipped.
fn run(script: &str, args: &[&str]) -> Option<String> {
    let scripts = super::repository().join("scripts");
    let output = Command::new(scripts.join(script))
        .args(args)
        .env("SINGLET_BIN", env!("CARGO_BIN_EXE_singlet"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (printed, complained) = (text(output.stdout), text(output.stderr));
    if output.status.code() == Some(SKIPPED) {
        // Written past the capture of the test harness, so that it is seen although the test passes.
        let _ = writeln!(
            std::io::stderr(),
            "\n!!! SKIPPED: `scripts/{script}`: {}\n",
            complained
                .lines()
                .rfind(|line| line.contains("SKIPPED"))
                .unwrap_or_default()
        );
        return None;
    }
    assert!(output.status.success(), "scripts/{script}\n{printed}\n{complained}");
    Some(printed)
}

#[test]
fn generated_requests_get_no_answer_that_the_documents_do_not_have() {
    let Some(printed) = run("schemathesis", &[CASES]) else {
        return;
    };
    let cases = printed.lines().find_map(|line| line.strip_suffix(" cases in all"));
    let cases: usize = cases.and_then(|count| count.parse().ok()).unwrap_or_default();
    assert!(cases >= CASES_IN_ALL_MIN, "{printed}");
}

#[test]
fn a_client_generated_from_each_document_works() {
    let Some(printed) = run("generated-client", &[]) else {
        return;
    };
    for system in ["todo", "wardrobe", "country", "booking", "ecobid"] {
        assert!(printed.contains(&format!("ok: {system} ")), "{printed}");
    }
}

#[test]
fn a_client_in_typescript_is_written_for_each_model_and_takes_no_wrong_call() {
    let Some(printed) = run("typescript-client", &[]) else {
        return;
    };
    let wrong = printed.lines().find_map(|line| {
        let rest = line.strip_prefix("ok: tsc --strict, ")?;
        rest.split(' ').next()?.parse::<usize>().ok()
    });
    assert!(wrong.is_some_and(|wrong| wrong >= 30), "{printed}");
    assert!(printed.contains("ok: a retry has the same key"), "{printed}");
    let called = printed.lines().find_map(|line| {
        let rest = line.strip_prefix("ok: ")?.split_once(" operations called")?;
        rest.0.parse::<usize>().ok()
    });
    let operations = ["todo", "wardrobe", "country", "booking", "ecobid"].map(operations_of);
    assert_eq!(called, Some(operations.iter().sum()), "{printed}");
}

/// How many reads and writes of a system have a route.
fn operations_of(system: &str) -> usize {
    let path = super::repository().join(format!("systems/{system}/openapi.json"));
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, methods): (&String, &serde_json::Value)| {
        let methods = methods.as_object().unwrap().keys();
        let own = path.starts_with("/reads/");
        methods.filter(|method| own || *method != "get").count()
    };
    paths.iter().map(of_path).sum()
}

#[test]
fn the_published_verifier_takes_what_webhooks_tell() {
    let Some(printed) = run("webhook-verifier", &[]) else {
        return;
    };
    assert_eq!(
        printed.lines().filter(|line| line.starts_with("ok: ")).count(),
        4,
        "{printed}"
    );
}

#[test]
fn an_event_source_watches_by_a_ticket() {
    let Some(printed) = run("event-source", &[]) else {
        return;
    };
    assert_eq!(
        printed.lines().filter(|line| line.starts_with("ok: ")).count(),
        3,
        "{printed}"
    );
}

#[test]
fn models_are_typed_into_the_language_server_by_its_public_client() {
    let Some(printed) = run("editor-session", &["300"]) else {
        return;
    };
    for line in [
        "ok: todo: typed",
        "ok: booking: typed",
        "ok: ecobid: typed",
        "ok: hover, ",
        "ok: ended",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
}

#[test]
fn the_public_inspector_asks_for_every_tool_and_nothing_is_written() {
    let Some(printed) = run("assistant-session", &[]) else {
        return;
    };
    for line in ["ok: verify", "ok: a file outside is refused", "ok: nothing was written"] {
        assert!(printed.contains(line), "{printed}");
    }
}

#[test]
fn a_collector_reads_spans_and_figures_by_the_published_messages() {
    let Some(printed) = run("otlp-collector", &[]) else {
        return;
    };
    assert_eq!(
        printed.lines().filter(|line| line.starts_with("ok: ")).count(),
        4,
        "{printed}"
    );
}

#[test]
fn what_is_deployed_starts_answers_its_probes_and_is_a_unit() {
    let Some(printed) = run("deploy-check", &[]) else {
        return;
    };
    assert!(printed.contains("ok: systemd-analyze verify"), "{printed}");
}

#[test]
fn an_importer_of_dynamodb_exports_has_the_items_of_every_table() {
    let Some(printed) = run("export-reader", &[]) else {
        return;
    };
    for system in ["todo", "wardrobe", "country", "booking", "ecobid"] {
        assert!(printed.contains(&format!("ok: {system}: ")), "{printed}");
    }
}

#[test]
fn readers_of_delta_tables_read_every_table_of_the_lakes() {
    let Some(printed) = run("lake-readers", &[]) else {
        return;
    };
    for line in [
        "ok: todo: ",
        "ok: wardrobe: ",
        "ok: country: ",
        "ok: booking: ",
        "ok: ecobid: ",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
    assert_eq!(
        printed.lines().filter(|line| line.starts_with("ok: ")).count(),
        8,
        "{printed}"
    );
}

/// Also that the bundle of the console is what its sources become.
#[test]
fn the_console_works_in_a_browser() {
    let Some(printed) = run("console-browser", &[]) else {
        // Where everything is tested, a browser can be had.
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "no browser in CI");
        return;
    };
    assert_eq!(
        printed.lines().filter(|line| line.starts_with("ok: ")).count(),
        11,
        "{printed}"
    );
}

#[test]
fn other_tools_take_what_is_exported() {
    let Some(printed) = run("export-check", &["4"]) else {
        // Where everything is tested, both can be had.
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "no cfn-lint or CDK in CI");
        return;
    };
    for line in [
        "ok: cfn-lint: ",
        "ok: the CDK includes ",
        "ok: terraform: ",
        "ok: workbench: ",
        "ok: iam: ",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
}

#[test]
fn boto3_works_on_the_protocol() {
    let Some(printed) = run("dynamodb-boto3", &[]) else {
        return;
    };
    assert_eq!(
        printed.lines().filter(|line| line.starts_with("ok: ")).count(),
        12,
        "{printed}"
    );
}

#[test]
fn the_sdk_for_javascript_and_electrodb_work_on_the_protocol() {
    let Some(printed) = run("dynamodb-javascript", &[]) else {
        return;
    };
    for (client, count) in [("ok: sdk: ", 5), ("ok: electrodb: ", 5)] {
        let lines = printed.lines().filter(|line| line.starts_with(client));
        assert_eq!(lines.count(), count, "{printed}");
    }
}

#[test]
fn three_libraries_and_singlet_keep_the_same_tables() {
    let Some(printed) = run("foreign-libraries", &["4"]) else {
        // Where everything is tested, they can be had.
        assert_ne!(
            std::env::var("CI").as_deref(),
            Ok("true"),
            "no ElectroDB, OneTable or dynamodb-toolbox in CI"
        );
        return;
    };
    for line in [
        "ok: electrodb: 8 items ",
        "ok: onetable: 8 items ",
        "ok: dynamodb-toolbox: 4 items ",
        "ok: import: person, task of electro, every item claimed",
        "ok: import: Account, User of onetable, every item claimed",
        "ok: import: Order of toolbox, every item claimed",
        "everything held: ",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
}

/// Of the 601 cases of the public suite.
const CONFORMANCE_PASSED_MIN: usize = 590;

#[test]
fn the_public_suite_of_dynamodb_passes() {
    let Some(printed) = run("dynamodb-conformance", &[]) else {
        return;
    };
    let passed = printed.lines().find_map(|line| line.split_once(" of 601 cases passed"));
    let passed: usize = passed.and_then(|(count, _)| count.parse().ok()).unwrap_or_default();
    assert!(passed >= CONFORMANCE_PASSED_MIN, "{printed}");
}
