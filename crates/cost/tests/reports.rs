//! Prices from files, reports that are kept and compared, figures that were measured, and partitions.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

use singlet_cost::{
    CostReport, PricesError, ScrapeError, ShareSource, capacity_needed, compare_reports, cost_report,
    expected_operations, measured_operations, read_prices, region_prices, stored_bytes,
};
use singlet_model::{Model, Source};

const PRICES: &str = include_str!("../prices/us-east-1.toml");

/// A table of notes: one index by owner, one read and one write.
fn notes(billing: &str, index: &str, estimates: &str) -> Model {
    let text = format!(
        r##"singlet: 1
name: notes
table:
  name: notes
  key: {{partition: PK, sort: SK}}
  indexes:
    GSI1: {{partition: GSI1PK, sort: GSI1SK}}
  type: none
  billing: {billing}
callers:
  jwt: {{audience: notes, claims: {{id: sub}}}}
types:
  State: {{enum: [open, done]}}
entities:
  Note:
    attributes:
      noteId: ulid = ulid()
      owner: string 1..64
      state: State
      text: string 1..500
    key: {{PK: "NOTE#{{noteId}}", SK: "NOTE"}}
    index:
      GSI1: {{GSI1PK: "{index}", GSI1SK: "{{noteId}}"}}
reads:
  note:
    get: Note
    where: noteId == args.noteId
    args: {{noteId: Note.noteId}}
    allow: caller.authenticated
writes:
  addNote:
    allow: caller.authenticated
    do:
      - create: Note
        set: {{owner: caller.id}}
        take: [state, text]
estimates:
{estimates}
"##
    );
    let loaded = singlet_model::load_source(&Source::new("notes.yaml", text));
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    loaded.model.unwrap()
}

const USUAL: &str =
    "  Note: {items: 1000, per: {owner: 10}, bytes: 300}\n  note: 100/s\n  addNote: {rate: 10/s, peak: 50/s}";

fn report(model: &Model) -> CostReport {
    let prices = region_prices("us-east-1").unwrap();
    cost_report(model, &expected_operations(model), &stored_bytes(model), &prices)
}

#[test]
fn a_region_without_prices_is_refused_with_the_form_of_the_file() {
    let refused = region_prices("eu-central-1").unwrap_err();
    assert!(matches!(refused, PricesError::UnknownRegion(_)));
    assert!(refused.to_string().contains("[on_demand]"), "{refused}");
}

#[test]
fn prices_of_a_team_take_the_place_of_those_that_are_known() {
    let own = read_prices(
        &PRICES
            .replace("us-east-1", "eu-central-1")
            .replace("= 0.625", "= 0.7625"),
    )
    .unwrap();
    let model = notes("on_demand", "OWNER#{owner}", USUAL);
    let dearer = cost_report(&model, &expected_operations(&model), &stored_bytes(&model), &own);
    let ratio = dearer.month_bill().unwrap().writes / report(&model).month_bill().unwrap().writes;
    assert!((ratio - 0.7625 / 0.625).abs() < 1e-9);
    assert_eq!(dearer.region, "eu-central-1");
}

#[test]
fn prices_that_are_none_are_refused() {
    for broken in [
        PRICES.replace("= 0.625", "= -1.0"),
        PRICES.replace("= 0.625", "= nan"),
        PRICES.replace("= 0.625", "= \"cheap\""),
        PRICES.replace("[stream]", "[river]"),
        PRICES.replace("read_million", "reed_million"),
        String::new(),
    ] {
        assert!(read_prices(&broken).is_err(), "{broken}");
    }
}

#[test]
fn a_kept_report_is_the_same_when_it_is_read_again() {
    let model = notes("on_demand", "OWNER#{owner}", USUAL);
    let kept = serde_json::to_string(&report(&model)).unwrap();
    let again: CostReport = serde_json::from_str(&kept).unwrap();
    assert_eq!(again.assumptions, report(&model).assumptions);
    let comparison = compare_reports(&again, &report(&model)).unwrap();
    assert!(comparison.changed.is_empty(), "{comparison:?}");
    assert_eq!(comparison.cost_increase(), 0.0);
}

#[test]
fn what_a_change_costs_more_is_told_by_operation() {
    let before = report(&notes("on_demand", "OWNER#{owner}", USUAL));
    let larger = USUAL.replace("bytes: 300", "bytes: 1500");
    let after = report(&notes("on_demand", "OWNER#{owner}", &larger));
    let comparison = compare_reports(&before, &after).unwrap();
    // A row of two blocks and an entry of two where each was one; the read stays within its block.
    let [changed] = comparison.changed.as_slice() else {
        panic!("{comparison:?}");
    };
    assert_eq!(changed.name, "addNote");
    assert_eq!((changed.units_before.1, changed.units_after.1), (2.0, 4.0));
    assert!(comparison.cost_increase() > 0.5);
    assert!(comparison.added.is_empty() && comparison.removed.is_empty());
    assert_eq!(compare_reports(&after, &before).unwrap().cost_increase(), 0.0);
    assert_eq!(compare_reports(&before, &before).unwrap().cost_increase(), 0.0);
}

#[test]
fn operations_that_are_new_or_gone_stand_apart() {
    let old = report(&notes("on_demand", "OWNER#{owner}", USUAL));
    let mut new = old.clone();
    let month = new.months.first_mut().unwrap();
    month.operations.first_mut().unwrap().name = "noteById".to_owned();
    let comparison = compare_reports(&old, &new).unwrap();
    assert_eq!(comparison.added.len(), 1);
    assert_eq!(comparison.removed.len(), 1);
    assert_eq!(comparison.cost_increase(), 0.0);
}

fn scrape(seconds: u64, reads: u64, writes: u64) -> String {
    format!(
        "# scraped {seconds}\n# HELP singlet_requests Answers, by status.\n# TYPE singlet_requests counter\n\
         singlet_requests_total{{system=\"notes\",operation=\"note\",status=\"200\"}} {reads}\n\
         singlet_requests_total{{system=\"notes\",operation=\"addNote\",status=\"201\"}} {writes}\n\
         singlet_requests_total{{system=\"other\",operation=\"note\",status=\"200\"}} 7\n\
         singlet_place_read_units_total{{system=\"notes\",operation=\"note\",place=\"table\"}} {}\n\
         singlet_place_write_units_total{{system=\"notes\",operation=\"addNote\",place=\"table\"}} {}\n\
         singlet_place_write_units_total{{system=\"notes\",operation=\"addNote\",place=\"GSI1\"}} {}\n\
         singlet_requests_in_flight 3\n# EOF\n",
        reads as f64 / 2.0,
        writes * 3,
        writes * 2
    )
}

#[test]
fn two_scrapes_take_the_place_of_estimates() {
    let model = notes("on_demand", "OWNER#{owner}", USUAL);
    let text = scrape(1000, 500, 40) + &scrape(1100, 1500, 240);
    let (operations, differences) = measured_operations(&model, &expected_operations(&model), &text).unwrap();
    let (read, write) = (&operations[0], &operations[1]);
    assert_eq!((read.rate, read.read_units()), (Some(10.0), 0.5)); // 1,000 in 100 seconds
    assert_eq!((write.rate, write.write_units()), (Some(2.0), 5.0)); // 200, of 3 and 2 units
    assert_eq!(write.peak, 10.0); // five times the average, as estimated
    let load = capacity_needed(&model, &operations, 1.0);
    assert_eq!(load.places[1].mean.write, 4.0);
    let told: Vec<(&str, &str)> = differences
        .iter()
        .map(|difference| (difference.operation.as_str(), difference.what.as_str()))
        .collect();
    assert_eq!(
        told,
        [("note", "rate"), ("addNote", "rate"), ("addNote", "write units")]
    );
}

/// Of what ran by itself no units are counted: it keeps its estimated ones.
#[test]
fn what_ran_by_itself_counts_with_its_estimated_units() {
    let model = notes("on_demand", "OWNER#{owner}", USUAL);
    let ran = |seconds: u64, runs: u64| {
        format!(
            "# scraped {seconds}\nsinglet_runs_total{{system=\"notes\",operation=\"addNote\",outcome=\"done\"}} {runs}\n"
        )
    };
    let estimated = expected_operations(&model);
    let (operations, _) = measured_operations(&model, &estimated, &(ran(1000, 40) + &ran(1100, 240))).unwrap();
    assert_eq!(operations[1].rate, Some(2.0));
    assert_eq!(operations[1].write_units(), estimated[1].write_units());
}

#[test]
fn scrapes_that_tell_nothing_are_refused() {
    let model = notes("on_demand", "OWNER#{owner}", USUAL);
    let measured = |text: &str| {
        measured_operations(&model, &expected_operations(&model), text)
            .map(|_| ())
            .unwrap_err()
    };
    assert_eq!(measured(""), ScrapeError::NotTwo(0));
    assert_eq!(measured(&scrape(1, 1, 1)), ScrapeError::NotTwo(1));
    assert_eq!(measured(&(scrape(1, 1, 1) + &scrape(1, 2, 2))), ScrapeError::NoTime);
    assert_eq!(measured(&(scrape(2, 1, 1) + &scrape(1, 2, 2))), ScrapeError::NoTime);
    assert_eq!(measured(&(scrape(1, 1, 1) + &scrape(2, 0, 2))), ScrapeError::Restarted);
    assert_eq!(measured("# scraped x\n# scraped y\n"), ScrapeError::NoTime);
    assert_eq!(measured("# scraped 1\n# scraped 2\nnonsense\n"), ScrapeError::Line(3));
    assert_eq!(measured("# scraped 1\n# scraped 2\na{b=\"c\n"), ScrapeError::Line(3));
    assert_eq!(
        measured("# scraped 1\n# scraped 2\n"),
        ScrapeError::NoFigures("notes".to_owned())
    );
}

#[test]
fn the_busiest_partition_is_found_and_when_it_throttles() {
    let model = notes("on_demand", "OWNER#{owner}", USUAL);
    let load = capacity_needed(&model, &expected_operations(&model), 1.0);
    let key = |place: &str| load.keys.iter().find(|key| key.place == place).unwrap();
    // A hundred owners: one gets a hundredth of 50 writes a second, of one unit.
    let owners = key("GSI1");
    assert_eq!((owners.why, owners.share), (ShareSource::Even, 0.01));
    assert_eq!(owners.busiest.write, 0.5);
    assert_eq!(owners.limit_at, Some(2000.0));
    // 400 gets a second at the peak of half a unit, over 1,000 notes.
    assert!((key("table").busiest.read - 0.2).abs() < 1e-12);
}

#[test]
fn a_state_as_partition_is_as_busy_as_its_share() {
    let shared = USUAL.replace("bytes: 300", "bytes: 300, shares: {state: {open: 0.9}}");
    let model = notes("on_demand", "STATE#{state}", &shared);
    let load = capacity_needed(&model, &expected_operations(&model), 1.0);
    let states = load.keys.iter().find(|key| key.place == "GSI1").unwrap();
    assert_eq!(states.why, ShareSource::Said);
    assert!((states.busiest.write - 45.0).abs() < 1e-9);
}

#[test]
fn what_is_declared_holds_or_not() {
    let declared = |units: &str| {
        let model = notes(units, "OWNER#{owner}", USUAL);
        let load = capacity_needed(&model, &expected_operations(&model), 1.0);
        load.places
            .iter()
            .map(|place| place.capacity_holds().unwrap())
            .collect::<Vec<_>>()
    };
    // 50 read and 10 write units a second on average, 200 and 50 at the peak; the index gets the same writes.
    let enough = "{read: 200, write: 50, indexes: {GSI1: {read: 1, write: 50}}}";
    assert_eq!(declared(enough), [(true, true), (true, true)]);
    let average = "{read: 199, write: 50, indexes: {GSI1: {read: 1, write: 49}}}";
    assert_eq!(declared(average), [(true, false), (true, false)]);
    let little = "{read: 49, write: 50, indexes: {GSI1: {read: 1, write: 9}}}";
    assert_eq!(declared(little), [(false, false), (false, false)]);
}

#[test]
fn what_is_to_be_provisioned_serves_the_peak_at_seven_tenths() {
    let model = notes("on_demand", "OWNER#{owner}", USUAL);
    let load = capacity_needed(&model, &expected_operations(&model), 1.0);
    let (table, index) = (&load.places[0], &load.places[1]);
    assert_eq!((table.provision.read, table.provision.write), (286, 72)); // 200 / 0.7 and 50 / 0.7
    assert_eq!((index.provision.read, index.provision.write), (1, 72)); // one at least
    assert_eq!((table.scale_from.read, table.scale_from.write), (72, 15)); // 50 / 0.7 and 10 / 0.7
}
