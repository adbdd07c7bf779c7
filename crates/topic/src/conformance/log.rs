//! Promises of the log itself: what was appended is there, once, in order.

use anyhow::{Context as _, ensure};
use futures::FutureExt as _;

use super::{
    TopicsPromiseRow,
    bench::{TopicsBench, check_same, numbered_records, test_record, values_text},
};
use crate::port::{NewRecord, RecordHeaders, TopicError};

pub(super) const PROMISES: &[TopicsPromiseRow] = &[
    ("declared once", "Declaring again changes nothing, and another partition count is refused.", |b| {
        declared_once(b).boxed()
    }),
    ("unknown is refused", "A record for a topic or a partition that does not exist is refused.", |b| {
        unknown_is_refused(b).boxed()
    }),
    ("durable at return", "What was appended before a crash is there after it.", |b| {
        durable_at_return(b).boxed()
    }),
    ("in order", "Within a partition records lie in the order in which they were appended.", |b| {
        check_order(b).boxed()
    }),
    ("no doubles", "A record that was appended once is there once.", |b| no_doubles(b).boxed()),
    ("offsets rise", "Offsets within a partition rise, also across a crash.", |b| offsets_rise(b).boxed()),
    ("time goes on", "Within a partition the time of appending never goes back.", |b| {
        time_goes_on(b).boxed()
    }),
    ("read as asked", "Reading starts where it is asked to and gives no more than it is asked for.", |b| {
        read_as_asked(b).boxed()
    }),
    (
        "bounds hold",
        "Every record lies between the bounds of its partition, and the end comes after the last.",
        |b| bounds_hold(b).boxed(),
    ),
    ("found by time", "An instant leads to the first record appended then or later, or to the end.", |b| {
        check_found_by_time(b).boxed()
    }),
    ("headers are kept", "Headers and tombstones of a plain topic come back as they were appended.", |b| {
        headers_are_kept(b).boxed()
    }),
];

async fn declared_once(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("log", 3).await?;
    bench.declare_topic("log", 3).await.context("declaring again")?;
    let other = bench.engine().declare(&[bench.topic_spec("log", 4)]).await;
    ensure!(matches!(other, Err(TopicError::Refused(_))), "another partition count gave {other:?}");
    let count = bench.engine().bounds(&topic).await?.len();
    ensure!(count == 3, "3 partitions were declared, there are {count}");
    bench.append(numbered_records(&topic, 2, 0..1)).await
}

async fn unknown_is_refused(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("log", 2).await?;
    let nowhere = bench.engine().append(numbered_records(&bench.topic_name("nowhere"), 0, 0..1)).await;
    ensure!(matches!(nowhere, Err(TopicError::Refused(_))), "an unknown topic gave {nowhere:?}");
    let beyond = bench.engine().append(numbered_records(&topic, 2, 0..1)).await;
    ensure!(matches!(beyond, Err(TopicError::Refused(_))), "partition 2 of 2 gave {beyond:?}");
    Ok(())
}

async fn durable_at_return(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("log", 2).await?;
    bench.append([numbered_records(&topic, 0, 0..3), numbered_records(&topic, 1, 3..5)].concat()).await?;
    bench.append(numbered_records(&topic, 0, 5..6)).await?;
    bench.crash().await?;
    check_same("after a crash", &values_text(&bench.read_all(&topic, 0).await?), "0 1 2 5")?;
    check_same("after a crash", &values_text(&bench.read_all(&topic, 1).await?), "3 4")
}

async fn check_order(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("log", 2).await?;
    for n in 0..3 {
        let (even, odd) =
            (numbered_records(&topic, 0, n * 4..n * 4 + 4), numbered_records(&topic, 1, n * 2..n * 2 + 2));
        bench.append([even, odd].concat()).await?;
    }
    check_same("partition 0", &values_text(&bench.read_all(&topic, 0).await?), "0 1 2 3 4 5 6 7 8 9 10 11")?;
    check_same("partition 1", &values_text(&bench.read_all(&topic, 1).await?), "0 1 2 3 4 5")?;
    let mut hand = bench.join_plain(&topic).await?;
    let handed = hand.take_records(18).await?;
    let zero: Vec<_> = handed.into_iter().filter(|r| r.partition == 0).collect();
    check_same("partition 0, handed out", &values_text(&zero), "0 1 2 3 4 5 6 7 8 9 10 11")
}

async fn no_doubles(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("log", 1).await?;
    // In parallel, since a shared write is where an engine would repeat one.
    let appends = (0..20).map(|n| bench.append(numbered_records(&topic, 0, n..n + 1)));
    futures::future::try_join_all(appends).await?;
    bench.crash().await?;
    let mut found: Vec<_> = bench.read_all(&topic, 0).await?.into_iter().map(|r| r.value).collect();
    let count = found.len();
    found.sort();
    found.dedup();
    ensure!(count == 20 && found.len() == 20, "20 records were appended, {count} are there");
    Ok(())
}

async fn offsets_rise(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("log", 1).await?;
    bench.append(numbered_records(&topic, 0, 0..5)).await?;
    bench.crash().await?;
    bench.append(numbered_records(&topic, 0, 5..10)).await?;
    let records = bench.engine().read(&topic, 0, 0, 100).await?;
    ensure!(records.len() == 10, "10 records were appended, {} are there", records.len());
    ensure!(records.is_sorted_by(|a, b| a.offset < b.offset), "offsets do not rise: {records:?}");
    Ok(())
}

async fn time_goes_on(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("log", 1).await?;
    for n in 0..4 {
        bench.append(numbered_records(&topic, 0, n..n + 1)).await?;
    }
    bench.crash().await?;
    bench.append(numbered_records(&topic, 0, 4..6)).await?;
    let records = bench.read_all(&topic, 0).await?;
    ensure!(records.is_sorted_by_key(|r| r.appended), "time goes back: {records:?}");
    ensure!(records.iter().all(|r| r.appended >= 0), "no time: {records:?}");
    Ok(())
}

async fn read_as_asked(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("log", 1).await?;
    bench.append(numbered_records(&topic, 0, 0..9)).await?;
    let all = bench.read_all(&topic, 0).await?;
    ensure!(all.len() == 9, "9 records were appended, {} are there", all.len());
    let some = bench.engine().read(&topic, 0, all[3].offset, 2).await?;
    check_same("two from the fourth on", &values_text(&some), "3 4")?;
    let none = bench.engine().read(&topic, 0, all[8].offset + 1, 2).await?;
    check_same("from the end on", &values_text(&none), "")
}

async fn bounds_hold(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("log", 2).await?;
    bench.append(vec![test_record(&topic, 1, "k", "a"), test_record(&topic, 1, "k", "b")]).await?;
    for when in ["before", "after"] {
        let bounds = bench.engine().bounds(&topic).await?;
        ensure!(bounds.len() == 2, "2 partitions, {} bounds", bounds.len());
        ensure!(
            bounds[0].0 == bounds[0].1,
            "nothing lies in partition 0, yet {:?} {when} a crash",
            bounds[0]
        );
        let (first, end) = bounds[1];
        let records = bench.read_all(&topic, 1).await?;
        ensure!(records.len() == 2, "2 records were appended, {} are there", records.len());
        let inside = records.iter().all(|r| (first..end).contains(&r.offset));
        ensure!(inside, "bounds {first} to {end} {when} a crash, but {records:?}");
        if when == "before" {
            bench.crash().await?;
        }
    }
    Ok(())
}

async fn check_found_by_time(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("log", 2).await?;
    for n in 0..5 {
        bench.append(numbered_records(&topic, 1, n..n + 1)).await?;
    }
    for when in ["before", "after"] {
        let records = bench.read_all(&topic, 1).await?;
        let ends: Vec<u64> = bench.engine().bounds(&topic).await?.into_iter().map(|(_, end)| end).collect();
        let last = records.last().context("nothing was appended")?.appended;
        for at in records.iter().map(|record| record.appended).chain([0, last + 1]) {
            let first = records.iter().find(|record| record.appended >= at);
            let wanted = vec![ends[0], first.map_or(ends[1], |record| record.offset)];
            let found = bench.engine().since(&topic, at).await?;
            ensure!(
                found == wanted,
                "{at} {when} a crash: wanted {wanted:?}, found {found:?} in {records:?}"
            );
        }
        if when == "before" {
            bench.crash().await?;
        }
    }
    Ok(())
}

async fn headers_are_kept(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("log", 1).await?;
    let headers = |names: &[(&str, &[u8])]| -> RecordHeaders {
        names.iter().map(|(name, value)| ((*name).to_owned(), value.to_vec())).collect()
    };
    let rows = [
        (Some("a"), headers(&[("ce_id", b"1"), ("empty", b""), ("ce_id", b"\xFF\x00")])),
        (None, headers(&[("why", "gel\u{f6}scht".as_bytes())])),
        (Some(""), headers(&[])),
        (None, headers(&[])),
    ];
    let records = rows.iter().map(|(value, headers)| NewRecord {
        value: value.map(|value| value.as_bytes().to_vec()),
        headers: headers.clone(),
        ..test_record(&topic, 0, "k", "")
    });
    bench.append(records.collect()).await?;
    bench.crash().await?;
    let read = bench.read_all(&topic, 0).await?;
    let handed = bench.join_plain(&topic).await?.take_records(rows.len()).await?;
    for found in [read, handed] {
        let found: Vec<_> = found.into_iter().map(|record| (record.value, record.headers)).collect();
        let wanted: Vec<_> =
            rows.iter().map(|(value, headers)| (value.map(Vec::from), headers.clone())).collect();
        ensure!(found == wanted, "wanted {wanted:?}, found {found:?}");
    }
    Ok(())
}
