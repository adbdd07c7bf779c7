//! Three processes of the room `slots`, killed, paused and started while mails are opened and things sell out: no mail shows a thing
//! twice or two lists, and each picture leads to its own page.
//!
//! The oracle is outside: what each place of each mail was seen to show. A request that got no answer is asked again of another
//! process, as a balancer does. `TIDINGS_SEED` repeats who is killed and what sells out.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use model::{ReadyId, Tenant};
use runtime::clock::SteadyStopwatch;
use serde_json::json;
use wire::{
    mail_slots::{MailSlots, PATH, sign_slots},
    token::LinkSecret,
};

use crate::{
    RealLuck, env_number,
    house::{EngineAddresses, RealHouse, pause_for, wait_until},
};

const ROOMS: [&[&str]; 4] = [&["ingest"], &["slots"], &["slots"], &["slots"]];
const PROCESSES: [usize; 3] = [1, 2, 3];
/// As the catalogue has it.
const PLACES: usize = 6;
const WARES: u64 = 24;
const BANNER: &str = "https://img.real.example/banner.png";
/// Who opens mails at once, how many each, and after every so many of them one that was opened before.
const HANDS: u64 = 6;
const OPENINGS: u64 = 40;
const AGAIN: u64 = 3;
const KILLS: u64 = 8;
const BETWEEN_KILLS: Duration = Duration::from_millis(700);
const PATIENCE: Duration = Duration::from_secs(180);
/// So long something that was said may be missing in what is only shown, and as much for a busy machine.
const LATELY: Duration = Duration::from_secs(5);

/// What a mail was seen to show, by place.
type ShownPlaces = BTreeMap<usize, String>;

#[test]
fn killed_slots_show_no_mail_two_lists() {
    let seed = env_number("TIDINGS_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("TIDINGS_SEED={seed}");
    let watch = SteadyStopwatch::start();
    let (kafka, cql) = (engines::kafka().unwrap(), engines::cql().unwrap());
    let name = format!("slots_{}", std::process::id());
    let house =
        RealHouse::start_on(&EngineAddresses { kafka, cql, name: &name, known: true }, &ROOMS).unwrap();
    println!("four processes after {} s", watch.elapsed().as_secs());
    let (things, banners) = run_openings(&house, seed).with_context(|| house.read_logs()).unwrap();
    println!("{things} things and {banners} banners; {} s", watch.elapsed().as_secs());
    assert!(things > 10 * banners, "TIDINGS_SEED={seed}: {things} things and {banners} banners");
}

/// Opens mails while processes are killed and things sell out, and then clicks on all that was shown.
fn run_openings(house: &RealHouse, seed: u64) -> Result<(usize, usize)> {
    stock_wares(house, &|_| true)?;
    let wares: Vec<String> = (1..=WARES).map(|ware| format!("ware:{ware}")).collect();
    let shelf = json!({"id": "shelf", "source": "shop", "type": "shelf.changed", "subject": "shelf:all",
        "data": {"wares": wares}});
    house.say("/v1/changes", &[shelf.to_string()])?;
    pause_for(LATELY);
    let (seen, banners, is_over) = (Mutex::default(), Mutex::new(0), AtomicBool::new(false));
    let opened = thread::scope(|scope| {
        let hands: Vec<_> = (0..HANDS)
            .map(|hand| {
                let (seen, banners) = (&seen, &banners);
                scope.spawn(move || open_mails(house, hand, seed, (seen, banners)))
            })
            .collect();
        let kills = scope.spawn(|| trouble_slots(house, seed, &is_over));
        let sales = scope.spawn(|| sell_wares(house, seed, &is_over));
        let opened: Result<()> = hands.into_iter().try_for_each(|hand| hand.join().unwrap());
        is_over.store(true, Ordering::SeqCst);
        println!("{} kills and pauses, {} sales", kills.join().unwrap()?, sales.join().unwrap()?);
        opened
    });
    opened?;
    stock_wares(house, &|_| true)?;
    house.wait_ready()?;
    pause_for(LATELY);
    let seen: BTreeMap<String, ShownPlaces> = seen.into_inner().unwrap();
    let mut luck = RealLuck(seed);
    for (mail, shown) in &seen {
        for (place, image) in shown {
            let page = ask(house, &format!("/{PATH}/{mail}/{place}/go"), &mut luck)?;
            let expected = image.replace("https://img.", "https://").replace(".png", "");
            ensure!(page == expected, "{image} leads to {page}, place {place} of {mail}");
        }
    }
    Ok((seen.values().map(ShownPlaces::len).sum(), banners.into_inner().unwrap()))
}

/// Opens some mails, new ones and ones that were opened before.
fn open_mails(
    house: &RealHouse,
    hand: u64,
    seed: u64,
    (seen, banners): (&Mutex<BTreeMap<String, ShownPlaces>>, &Mutex<usize>),
) -> Result<()> {
    let secret = LinkSecret::parse(&"5e".repeat(32)).context("the secret of the house")?;
    let mut luck = RealLuck(seed ^ (hand << 32));
    let mut mails: Vec<String> = Vec::new();
    for number in 0..OPENINGS {
        let again = number % AGAIN == 2;
        let mail = if again {
            mails[usize::try_from(luck.below(mails.len() as u64))?].clone()
        } else {
            let mut ready = [0; 16];
            ready[..8].copy_from_slice(&hand.to_be_bytes());
            ready[8..].copy_from_slice(&number.to_be_bytes());
            let slots =
                MailSlots { tenant: Tenant::new("main")?, ready: ReadyId(ready), list: "chosen".to_owned() };
            sign_slots(&slots, &secret).context("the name of the list")?
        };
        let shown = open_mail(house, &mail, &mut luck)?;
        let things: Vec<&String> = shown.values().filter(|image| *image != BANNER).collect();
        let distinct: BTreeSet<&&String> = things.iter().collect();
        ensure!(distinct.len() == things.len(), "a thing twice in {mail}: {shown:?}");
        *banners.lock().unwrap() += shown.len() - things.len();
        let mut seen = seen.lock().unwrap();
        let known = seen.entry(mail.clone()).or_default();
        for (place, image) in shown.into_iter().filter(|(_, image)| image != BANNER) {
            let before = known.entry(place).or_insert_with(|| image.clone());
            ensure!(*before == image, "two lists: {before}, then {image}, at place {place} of {mail}");
        }
        let images: BTreeSet<&String> = known.values().collect();
        ensure!(images.len() == known.len(), "a thing twice in {mail}, over time: {known:?}");
        drop(seen);
        mails.push(mail);
    }
    Ok(())
}

/// All pictures of a mail at once, each of any process.
fn open_mail(house: &RealHouse, mail: &str, luck: &mut RealLuck) -> Result<ShownPlaces> {
    let asked: Vec<(usize, u64)> = (1..=PLACES).map(|place| (place, luck.below(1 << 40))).collect();
    thread::scope(|scope| {
        let asked: Vec<_> = asked
            .into_iter()
            .map(|(place, seed)| {
                let path = format!("/{PATH}/{mail}/{place}");
                scope.spawn(move || anyhow::Ok((place, ask(house, &path, &mut RealLuck(seed))?)))
            })
            .collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    })
}

/// Where an address leads, asked of one process after the other until there is an answer.
fn ask(house: &RealHouse, path: &str, luck: &mut RealLuck) -> Result<String> {
    let agent = ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(20)))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .user_agent("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
        .build();
    let (agent, since) = (ureq::Agent::from(agent), SteadyStopwatch::start());
    loop {
        let process = &house.processes[PROCESSES[usize::try_from(luck.below(3))?]];
        let answer =
            process.address().and_then(|address| Ok(agent.get(format!("{address}{path}")).call()?));
        match answer {
            Ok(answer) if answer.status() == 302 => {
                let leads = answer.headers().get("location").context("it leads nowhere")?;
                return Ok(leads.to_str()?.to_owned());
            }
            // A process that is not ready yet says so.
            Ok(answer) if answer.status() == 503 && since.elapsed() < PATIENCE => {}
            Ok(answer) => anyhow::bail!("{path}: {}", answer.status()),
            Err(error) if since.elapsed() > PATIENCE => return Err(error),
            Err(_) => {}
        }
        pause_for(Duration::from_millis(50));
    }
}

/// Kills processes, or has them stand still for a while, until all is opened.
fn trouble_slots(house: &RealHouse, seed: u64, is_over: &AtomicBool) -> Result<u64> {
    let mut luck = RealLuck(seed);
    let mut troubles = 0;
    while troubles < KILLS || !is_over.load(Ordering::SeqCst) {
        pause_for(BETWEEN_KILLS + Duration::from_millis(luck.below(700)));
        let process = &house.processes[PROCESSES[usize::try_from(luck.below(3))?]];
        ensure!(process.exit_status().is_none(), "it ended by itself: {}", process.log_tail());
        if luck.below(2) == 0 {
            process.signal("STOP")?;
            pause_for(Duration::from_millis(500 + luck.below(2_500)));
            process.signal("CONT")?;
        } else {
            process.kill();
            process.start()?;
            wait_until(PATIENCE, &|| Ok(process.is_ready()))?;
        }
        troubles += 1;
    }
    Ok(troubles)
}

/// Things sell out and come back, so that two who choose at different moments choose other things.
fn sell_wares(house: &RealHouse, seed: u64, is_over: &AtomicBool) -> Result<u64> {
    let mut luck = RealLuck(!seed);
    let mut sales = 0;
    while !is_over.load(Ordering::SeqCst) {
        let sold: BTreeSet<u64> = (0..WARES / 3).map(|_| 1 + luck.below(WARES)).collect();
        stock_wares(house, &|ware| !sold.contains(&ware))?;
        sales += 1;
        pause_for(Duration::from_millis(100));
    }
    Ok(sales)
}

fn stock_wares(house: &RealHouse, is_there: &dyn Fn(u64) -> bool) -> Result<()> {
    let ware = |ware: u64| {
        let change = json!({
            "id": format!("ware {ware} {}", runtime::Clock::real(0).now()),
            "source": "shop",
            "type": "ware.changed",
            "subject": format!("ware:{ware}"),
            "data": {
                "picture": format!("https://img.real.example/{ware}.png"),
                "page": format!("https://real.example/{ware}"),
                "there": is_there(ware),
            },
        });
        change.to_string()
    };
    house.say("/v1/changes", &(1..=WARES).map(ware).collect::<Vec<_>>())
}
