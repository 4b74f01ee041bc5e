//! Followers: where they go on, who is told what, and what was gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use singlet_changes::{
    Beside, COMMIT_WRITES_MAX, ChangePage, ChangeSource, FOLLOWERS_MAX, FollowError, Follower, Followers, ItemsBeside,
    KeptPut, ScanItems, Told,
};
use singlet_item::Item;
use singlet_store::{GetRequest, StoreError, StreamPage, StreamRequest, TransactWrite, Update, UpdateRequest};
use singlet_store_embedded::Retention;

use crate::lost_answers::LostAnswers;
use crate::support::{System, followers_of, item};

const NOW: i64 = 1_794_830_400;

const NOTES: &str = r#"
singlet: 1
name: notes
table: {name: notes, key: {partition: PK, sort: SK}, type: kind, stream: both_images}
entities:
  Note:
    attributes: {id: string 1..8, n: int 0.. = 0}
    key: {PK: "NOTE#{id}", SK: "NOTE"}
writes:
  add: {allow: true, do: [{create: Note, take: [id]}]}
"#;

fn followers(system: &System) -> Followers {
    followers_of(&system.engine)
}

async fn add(system: &System, ids: &[&str]) {
    for id in ids {
        system.write("add", json!({"id": id})).await;
    }
}

/// The ids of the notes that a follower is told next.
async fn told(follower: &mut Follower) -> Vec<String> {
    let page = follower.next_page(NOW).await.unwrap();
    let ids = page.told.iter().map(|told| match told {
        Told::Change(change) => change.key["id"].as_str().unwrap().to_owned(),
        Told::Misfit(misfit) => panic!("{misfit}"),
    });
    ids.collect()
}

async fn start(system: &System, name: &str) -> Follower {
    Follower::start(followers(system), name, NOW).await.unwrap()
}

#[tokio::test]
async fn a_new_follower_begins_now_and_goes_on_where_it_noted() {
    let system = System::open(NOTES).await;
    add(&system, &["a"]).await;
    let mut first = start(&system, "mail").await;
    add(&system, &["b", "c"]).await;
    assert_eq!(told(&mut first).await, ["b", "c"]);
    // It ends before it notes: the same again.
    let mut again = start(&system, "mail").await;
    assert_eq!(told(&mut again).await, ["b", "c"]);
    again.note_progress(NOW).await.unwrap();
    add(&system, &["d"]).await;
    let mut third = start(&system, "mail").await;
    assert_eq!(told(&mut third).await, ["d"]);
    // Another name is another follower.
    let mut other = start(&system, "lake").await;
    assert_eq!(told(&mut other).await, [""; 0]);
    assert_eq!(followers(&system).names().await.unwrap(), ["lake", "mail"]);
}

#[tokio::test]
async fn a_follower_does_not_follow_its_own_notes() {
    let system = System::open(NOTES).await;
    let mut follower = start(&system, "mail").await;
    add(&system, &["a"]).await;
    system.records().await;
    for at in 0..10 {
        told(&mut follower).await;
        follower.note_progress(NOW + at).await.unwrap();
    }
    assert_eq!(system.records().await.len(), 1);
    // What is idle is noted now and then, so that its position does not age.
    follower.note_progress(NOW + 3_600).await.unwrap();
    assert_eq!(system.records().await.len(), 1);
}

#[tokio::test]
async fn of_two_under_one_name_the_one_that_is_behind_is_told() {
    let system = System::open(NOTES).await;
    let mut one = start(&system, "mail").await;
    let mut two = start(&system, "mail").await;
    add(&system, &["a"]).await;
    assert_eq!(
        (told(&mut one).await, told(&mut two).await),
        (vec!["a".to_owned()], vec!["a".to_owned()])
    );
    one.note_progress(NOW).await.unwrap();
    assert!(matches!(
        two.note_progress(NOW).await.unwrap_err(),
        FollowError::Overtaken
    ));
    // Nothing moved back.
    assert_eq!(told(&mut start(&system, "mail").await).await, [""; 0]);
}

/// A store whose answers to writes are lost, every second one before it was done.
struct Lossy(Arc<dyn ChangeSource>, AtomicUsize);

#[async_trait]
impl ChangeSource for Lossy {
    async fn read_records(&self, request: &StreamRequest) -> Result<StreamPage, StoreError> {
        self.0.read_records(request).await
    }

    async fn items_beside(&self, beside: &Beside) -> Result<ItemsBeside, StoreError> {
        self.0.items_beside(beside).await
    }

    async fn scan_items(&self, request: &ScanItems) -> Result<ItemsBeside, StoreError> {
        self.0.scan_items(request).await
    }

    async fn get_row(&self, table: &str, key: &Item) -> Result<Option<Item>, StoreError> {
        self.0.get_row(table, key).await
    }

    async fn put_row(&self, put: &KeptPut) -> Result<bool, StoreError> {
        let turn = self.1.fetch_add(1, Ordering::Relaxed);
        match turn % 3 {
            0 => return self.0.put_row(put).await,
            1 => drop(self.0.put_row(put).await?),
            _ => {}
        }
        Err(StoreError::unavailable("the answer is lost"))
    }
}

#[tokio::test]
async fn a_note_whose_answer_is_lost_is_noted_again_and_overtakes_nobody() {
    let system = System::open(NOTES).await;
    drop(start(&system, "mail").await);
    let source: Arc<dyn ChangeSource> = Arc::new(Arc::clone(system.engine.store()));
    let lossy = Arc::new(Lossy(source, AtomicUsize::new(0)));
    let lossy = Followers::new(Arc::clone(system.engine.model()), lossy);
    let mut follower = Follower::start(lossy, "mail", NOW).await.unwrap();
    let ids: Vec<String> = (0..12).map(|at| format!("n{at}")).collect();
    let mut done = Vec::new();
    for id in &ids {
        add(&system, &[id]).await;
        done.extend(told(&mut follower).await);
        while let Err(error) = follower.note_progress(NOW).await {
            assert!(
                matches!(&error, FollowError::Store(error) if error.is_unavailable()),
                "{error}"
            );
        }
    }
    assert_eq!(done, ids);
    assert_eq!(told(&mut start(&system, "mail").await).await, [""; 0]);
}

#[tokio::test]
async fn changes_that_were_gone_are_a_gap_until_somebody_says_that_it_is_known() {
    let system = System::open(NOTES).await;
    drop(start(&system, "mail").await);
    add(&system, &["a", "b"]).await;
    let nothing = Retention {
        age_min: Duration::ZERO,
        age_max: Duration::ZERO,
        bytes_max: 0,
        followers: Default::default(),
    };
    system.embedded.trim_changes(&nothing).await.unwrap();
    add(&system, &["c"]).await;
    let mut late = start(&system, "mail").await;
    assert_eq!(told(&mut late).await, ["c"]);
    // It ends before it noted anything: that is no second gap.
    let mut late = Follower::start(followers(&system), "mail", NOW + 5).await.unwrap();
    assert_eq!(late.next_page(NOW + 5).await.unwrap().told.len(), 1);
    late.note_progress(NOW + 9).await.unwrap();
    let gaps = followers(&system).noted_of("mail").await.unwrap().unwrap().gaps;
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!((gaps[0].from_seconds, gaps[0].to_seconds), (NOW, NOW + 5));
    assert_eq!(followers(&system).acknowledge_gaps("mail").await.unwrap(), 1);
    let noted = followers(&system).noted_of("mail").await.unwrap().unwrap();
    assert_eq!((noted.gaps.len(), noted.at_seconds), (0, NOW + 9));
    assert_eq!(told(&mut start(&system, "mail").await).await, [""; 0]);
}

#[tokio::test]
async fn a_follower_that_is_forgotten_is_told_and_its_name_is_free() {
    let system = System::open(NOTES).await;
    let mut running = start(&system, "mail").await;
    add(&system, &["a"]).await;
    told(&mut running).await;
    followers(&system).forget_follower("mail").await.unwrap();
    assert!(matches!(
        running.note_progress(NOW).await.unwrap_err(),
        FollowError::Overtaken
    ));
    assert_eq!(followers(&system).names().await.unwrap(), [""; 0]);
    assert!(matches!(
        followers(&system).forget_follower("mail").await.unwrap_err(),
        FollowError::Refused(_)
    ));
    // Begun anew, it begins now.
    assert_eq!(told(&mut start(&system, "mail").await).await, [""; 0]);
    assert_eq!(followers(&system).names().await.unwrap(), ["mail"]);
}

#[tokio::test]
async fn names_and_their_number_have_bounds() {
    let system = System::open(NOTES).await;
    let long = "x".repeat(65);
    for name in ["", "a b", "a#b", "ä", long.as_str()] {
        let refused = Follower::start(followers(&system), name, NOW).await.err().unwrap();
        assert!(matches!(refused, FollowError::Refused(_)), "{name}");
    }
    start(&system, &"x".repeat(64)).await;
    for at in 1..FOLLOWERS_MAX {
        start(&system, &format!("f{at}")).await;
    }
    let refused = Follower::start(followers(&system), "late", NOW).await.err().unwrap();
    assert!(matches!(refused, FollowError::Refused(_)));
    assert_eq!(followers(&system).names().await.unwrap().len(), FOLLOWERS_MAX);
}

/// Processes that end between any two steps, two at a time: every change is done, those of a row in order.
#[tokio::test]
async fn whoever_ends_when_every_change_is_done_at_least_once_and_in_order() {
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let system = System::open(&NOTES.replace(
            "writes:\n",
            "writes:\n  raise: {allow: true, args: {id: string 1..8}, do: [{update: Note(args.id), add: {n: 1}}]}\n",
        ))
        .await;
        drop(start(&system, "mail").await);
        add(&system, &["a", "b"]).await;
        let mut running = [start(&system, "mail").await, start(&system, "mail").await];
        // What was done by anybody, in order: the row and how often it was raised.
        let mut done: Vec<(String, i64)> = Vec::new();
        let mut raised = 0;
        for _ in 0..60 {
            let which = random.usize(..2);
            match random.u32(..5) {
                0 | 1 => {
                    let id = ["a", "b"][random.usize(..2)];
                    system.write("raise", json!({"id": id})).await;
                    raised += 1;
                }
                // Ended, and started anew.
                2 => running[which] = start(&system, "mail").await,
                _ => {
                    let page = running[which].next_page(NOW).await.unwrap();
                    for told in &page.told {
                        let Told::Change(change) = told else { panic!() };
                        let after = change.after.as_ref().unwrap();
                        let n = after["n"].as_number().unwrap().to_i64().unwrap();
                        done.push((change.key["id"].as_str().unwrap().to_owned(), n));
                    }
                    // Ended before it notes, or overtaken: begun anew where the table says.
                    if random.bool() || running[which].note_progress(NOW).await.is_err() {
                        running[which] = start(&system, "mail").await;
                    }
                }
            }
        }
        let mut last = start(&system, "mail").await;
        let page = last.next_page(NOW).await.unwrap();
        for told in &page.told {
            let Told::Change(change) = told else { panic!() };
            let n = change.after.as_ref().unwrap()["n"].as_number().unwrap();
            done.push((change.key["id"].as_str().unwrap().to_owned(), n.to_i64().unwrap()));
        }
        // Where each row is first raised to a number, it was at the one before.
        for id in ["a", "b"] {
            let of_row: Vec<i64> = done.iter().filter(|(of, _)| of == id).map(|(_, n)| *n).collect();
            let mut seen = BTreeSet::new();
            let firsts: Vec<i64> = of_row.into_iter().filter(|n| seen.insert(*n)).collect();
            assert_eq!(
                firsts,
                (0..i64::try_from(firsts.len()).unwrap()).collect::<Vec<_>>(),
                "seed {seed}"
            );
        }
        let distinct: BTreeSet<_> = done.into_iter().collect();
        assert_eq!(distinct.len(), raised + 2, "seed {seed}");
    }
}

/// One that counts notes by their first letter, in a row of the table.
fn counted(system: &System, page: &ChangePage) -> Vec<TransactWrite> {
    let mut counts: BTreeMap<char, i64> = BTreeMap::new();
    for told in &page.told {
        let Told::Change(change) = told else { panic!() };
        let id = change.key["id"].as_str().unwrap();
        *counts.entry(id.chars().next().unwrap()).or_default() += 1;
    }
    let write = |(letter, count): (char, i64)| {
        TransactWrite::Update(UpdateRequest {
            table: system.engine.model().table.name.clone(),
            key: tally_key(letter),
            update: Update::new().add("n", count),
            ..UpdateRequest::default()
        })
    };
    counts.into_iter().map(write).collect()
}

fn tally_key(letter: char) -> Item {
    item(&[("PK", &format!("TALLY#{letter}")), ("SK", "TALLY")])
}

async fn tally(system: &System, letter: char) -> i64 {
    let request = GetRequest {
        table: system.engine.model().table.name.clone(),
        key: tally_key(letter),
        consistent: true,
        projection: Default::default(),
    };
    let item = system.engine.store().get(&request).await.unwrap().item;
    item.map_or(0, |item| item["n"].as_number().unwrap().to_i64().unwrap())
}

/// Two who count under one name, ended between any two steps, with answers that are lost: every note counts once.
#[tokio::test]
async fn what_is_committed_with_its_position_counts_once() {
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let system = System::open(NOTES).await;
        let store = Arc::clone(system.engine.store());
        let lossy = LostAnswers::of(Arc::clone(&store));
        let mut running = [start(&system, "count").await, start(&system, "count").await];
        let mut pages: [Option<ChangePage>; 2] = [None, None];
        let mut made: BTreeMap<char, i64> = BTreeMap::new();
        for at in 0..80 {
            let which = random.usize(..2);
            match (random.u32(..4), pages[which].take()) {
                (0, page) => {
                    pages[which] = page;
                    let letter = ['a', 'b'][random.usize(..2)];
                    add(&system, &[&format!("{letter}{at}")]).await;
                    *made.entry(letter).or_default() += 1;
                }
                (1, _) => running[which] = start(&system, "count").await,
                (_, None) => pages[which] = Some(running[which].next_page(NOW).await.unwrap()),
                (kind, Some(page)) => {
                    let writes = counted(&system, &page);
                    let mut done = match kind {
                        2 => running[which].commit(store.as_ref(), writes.clone(), NOW).await,
                        _ => running[which].commit(&lossy, writes.clone(), NOW).await,
                    };
                    // Nobody knows whether it was done: it is sent again.
                    while done
                        .as_ref()
                        .is_err_and(|error| matches!(error, FollowError::Store(error) if error.is_unavailable()))
                    {
                        done = running[which].commit(&lossy, writes.clone(), NOW).await;
                    }
                    match done {
                        Ok(()) => {}
                        Err(FollowError::Overtaken) => running[which] = start(&system, "count").await,
                        Err(error) => panic!("seed {seed}: {error}"),
                    }
                }
            }
        }
        let mut last = start(&system, "count").await;
        let page = last.next_page(NOW).await.unwrap();
        last.commit(store.as_ref(), counted(&system, &page), NOW).await.unwrap();
        for (letter, count) in made {
            assert_eq!(tally(&system, letter).await, count, "seed {seed}, {letter}");
        }
    }
}

#[tokio::test]
async fn a_commit_has_a_bound_and_does_all_or_nothing() {
    let system = System::open(NOTES).await;
    let store = Arc::clone(system.engine.store());
    let mut follower = start(&system, "count").await;
    add(&system, &["a"]).await;
    let page = follower.next_page(NOW).await.unwrap();
    assert_eq!(page.told.len(), 1);
    let write = |at: usize| {
        TransactWrite::Update(UpdateRequest {
            table: "notes".to_owned(),
            key: item(&[("PK", &format!("TALLY#{at}")), ("SK", "TALLY")]),
            update: Update::new().add("n", 1_i64),
            ..UpdateRequest::default()
        })
    };
    let many = |count: usize| (0..count).map(write).collect::<Vec<_>>();
    let refused = follower.commit(store.as_ref(), many(COMMIT_WRITES_MAX + 1), NOW).await;
    assert!(matches!(refused, Err(FollowError::Refused(_))));
    follower
        .commit(store.as_ref(), many(COMMIT_WRITES_MAX), NOW)
        .await
        .unwrap();
    assert_eq!(told(&mut start(&system, "count").await).await, [""; 0]);
    // A condition of its own that fails is no overtaking, and nothing is noted.
    add(&system, &["b"]).await;
    told(&mut follower).await;
    let TransactWrite::Update(mut update) = write(0) else {
        panic!()
    };
    update.condition = Some(singlet_store::Condition::not_exists(singlet_store::Path::attribute(
        "PK",
    )));
    let failed = follower
        .commit(store.as_ref(), vec![TransactWrite::Update(update)], NOW)
        .await;
    assert!(matches!(failed, Err(FollowError::Store(error)) if error.is_condition_failed()));
    assert_eq!(told(&mut start(&system, "count").await).await, ["b"]);
}
