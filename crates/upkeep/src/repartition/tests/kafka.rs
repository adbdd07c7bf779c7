//! The same on Kafka, where topics go one by one and what groups had committed goes a moment later.

use topic_kafka::{KafkaTopics, Settings, settings::ReplicationSettings};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_kafka_it_is_the_same() {
    let brokers = engines::kafka().unwrap();
    let clock = Clock::real(0);
    let (prefix, replication) =
        (format!("repartition-{}-", clock.now()), ReplicationSettings { factor: 1, min_insync: 1 });
    let settings = Settings { prefix, replication, ..Settings::for_brokers(brokers) };
    let log = KafkaTopics::open(settings, clock).unwrap();
    let ground = RepartitionFixture::on_log(Arc::new(log), 4).await;
    let before = ground.read_remembered(4).await;
    let member = ground.join("sender", &[topics::READY]).await;
    assert!(ground.execute(3).await.is_err_and(|why| why.contains("`sender` has members")));
    ground.leave("sender", member).await;
    for to in [3, 6] {
        // When the records are copied, between two topics that go, and when they are put back.
        for nth in [3, 10, 14] {
            let cut = ground.execute_cut_off(to, nth, nth % 2 == 0).await;
            assert!(cut.as_ref().is_err_and(|why| why.contains("cut off")), "{nth}: {cut:?}");
        }
        ground.execute(to).await.unwrap();
        ground.assert_settled(to, &before).await;
    }
    ground.log.remove(&[keyed_topics(), vec![note::TOPIC.into()]].concat()).await.unwrap();
}
