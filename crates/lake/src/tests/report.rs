//! What a report says of a lake.

use serde_json::{Value as Json, json};

use super::support::{Folder, Shop, item};
use crate::{LakeReport, ReportUnit, ReportView};

const JOBS: &str = r#"
singlet: 1
name: jobs
table: {name: jobs, key: {partition: PK, sort: SK}, type: kind, stream: both_images}
types:
  Status: {enum: [open, held, done]}
  Place: {object: {city: string, lat: number, lon: number}}
entities:
  Job:
    attributes:
      jobId: string 1..20
      who: {type: string 1..20, personal: readable}
      status: Status
      made: time = now
      ended: time?
      due: date?
      pay: number 0.00..999.99
      place: Place
    key: {PK: "JOB#{jobId}", SK: "JOB"}
    states:
      of: status
      start: open
      moves: {hold: open -> held, end: open | held -> done, again: done -> open}
      while: {done: {ended: now}}
"#;

fn job(id: usize, status: &str, city: &str) -> singlet_item::Item {
    let mut attributes = json!({
        "who": {"S": format!("person-{id}")}, "status": {"S": status}, "made": {"S": "2026-01-01T00:00:00.000Z"},
        "pay": {"N": "1.25"}, "due": {"S": format!("2026-01-{:02}", id + 1)},
        "place": {"M": {"city": {"S": city}, "lat": {"N": "1"}, "lon": {"N": "2"}}},
    });
    if status == "done" {
        attributes["ended"] = json!({"S": format!("2026-01-{:02}T00:00:00.000Z", id + 2)});
    }
    item("Job", &id.to_string(), attributes)
}

fn view<'r>(report: &'r LakeReport, title: &str) -> &'r ReportView {
    let titles: Vec<&str> = report.views.iter().map(|view| view.title.as_str()).collect();
    let found = report.views.iter().find(|view| view.title == title);
    found.unwrap_or_else(|| panic!("{title}: {titles:#?}"))
}

fn bars(view: &ReportView) -> Vec<(&str, i128)> {
    view.bars
        .iter()
        .map(|bar| (bar.label.as_str(), bar.bar_total()))
        .collect()
}

#[tokio::test]
async fn a_report_has_what_the_rows_and_changes_come_to() {
    let (shop, folder) = (Shop::open(JOBS).await, Folder::new());
    let files = folder.files();
    let now = 1_794_830_400_000;
    let none = LakeReport::read(files.as_ref(), &shop.model, now).unwrap_err();
    assert_eq!(none.to_string(), "there is no lake of the model");
    let mut follower = shop.follower(files.clone());
    shop.follow(&mut follower).await.unwrap();
    let empty = LakeReport::read(files.as_ref(), &shop.model, now).unwrap();
    assert_eq!(empty.to_text(), "the lake has no rows\n");
    for id in 0..8 {
        shop.put(job(id, "open", if id < 6 { "Oslo<&>" } else { "Rome" })).await;
    }
    for id in 0..3 {
        shop.put(job(id, "done", "Oslo<&>")).await;
    }
    shop.follow(&mut follower).await.unwrap();
    let report = LakeReport::read(files.as_ref(), &shop.model, now).unwrap();
    assert_eq!(bars(view(&report, "Job by status")), [("open", 5), ("done", 3)]);
    assert_eq!(bars(view(&report, "Job by place.city")), [("Oslo<&>", 6), ("Rome", 2)]);
    assert_eq!(view(&report, "Job by place.city").series, ["open", "done"]);
    let overdue = view(&report, "Job that is open or held, by due before today");
    assert_eq!(
        bars(overdue).first(),
        Some(&("2026-01-04", 1)),
        "what is done is not overdue"
    );
    assert_eq!(overdue.bars.len(), 5);
    let times = view(&report, "Job: middle time from made to ended, by status");
    assert_eq!(
        (times.unit, bars(times)),
        (ReportUnit::Seconds, vec![("done", 2 * 86_400)])
    );
    let paid = view(&report, "Job: sum of pay, by due");
    assert_eq!(paid.unit, ReportUnit::Sum(2));
    assert_eq!(paid.bars.iter().map(|bar| bar.bar_total()).sum::<i128>(), 1_000);
    assert_eq!(
        bars(view(&report, "Job: how often a state became another")),
        [("open → done", 3)]
    );
    assert_eq!(bars(view(&report, "Job: what changes")), [("ended", 3), ("status", 3)]);
    let (text, svg, json) = (report.to_text(), report.to_svg(), report.to_json());
    assert!(
        text.contains("  open  ████████████████████████████████████████ 5\n"),
        "{text}"
    );
    for shown in [&text, &svg, &json] {
        assert!(!shown.contains("person-"), "what tells of a person is in no report");
    }
    // The city's name has what XML would take for its own.
    assert!(svg.contains("Oslo&lt;&amp;&gt;") && !svg.contains("<&>"), "{svg}");
    let widths: Vec<usize> = svg
        .split("<rect ")
        .filter(|rect| rect.contains("<title>open  5<") || rect.contains("<title>done  3<"))
        .map(|rect| {
            rect.split("width=\"")
                .nth(1)
                .unwrap()
                .split('"')
                .next()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    assert_eq!(widths, [532, 319], "three fifths of the longest");
    let json: Json = serde_json::from_str(&json).unwrap();
    assert!(json["views"].as_array().unwrap().len() >= 8);
}
