//! Which server is meant to lead which namespace: evenly spread, with as few changes
//! as that takes, and the same wherever it is computed.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Every namespace and who is meant to lead it. `leaders` names every namespace with
/// its present leader, `servers` every live server's id and place.
///
/// No server leads more than one namespace more than another. A namespace stays where
/// it is unless its leader is gone or leads too many; the others go by rendezvous
/// (highest rank first, Thaler and Ravishankar 1998) to whoever has room.
pub fn assign(
    leaders: &BTreeMap<Arc<str>, Option<Arc<str>>>,
    servers: &BTreeMap<Arc<str>, Arc<str>>,
) -> BTreeMap<Arc<str>, Arc<str>> {
    let mut room = quotas(leaders, servers);
    let mut assigned = BTreeMap::new();
    for (name, server) in by_rank_of_leader(leaders, servers) {
        if take(&mut room, &server) {
            assigned.insert(name, server);
        }
    }
    let homeless = leaders.keys().filter(|name| !assigned.contains_key(*name)).cloned();
    for name in homeless.collect::<Vec<_>>() {
        let with_room = servers.iter().filter(|(id, _)| room.get(*id).is_some_and(|it| *it > 0));
        let best = with_room.max_by_key(|(id, place)| (rank(&name, place), (*id).clone()));
        if let Some((id, _)) = best
            && take(&mut room, id)
        {
            assigned.insert(name, id.clone());
        }
    }
    assigned
}

/// How many each may lead. The odd ones go to those that lead most already.
fn quotas(
    leaders: &BTreeMap<Arc<str>, Option<Arc<str>>>,
    servers: &BTreeMap<Arc<str>, Arc<str>>,
) -> BTreeMap<Arc<str>, usize> {
    if servers.is_empty() {
        return BTreeMap::new();
    }
    let (least, odd) = (leaders.len() / servers.len(), leaders.len() % servers.len());
    let led = |id: &Arc<str>| leaders.values().flatten().filter(|leader| *leader == id).count();
    let mut order: Vec<_> = servers.iter().map(|(id, place)| (led(id), place, id)).collect();
    order.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let quota = |(number, (_, _, id)): (usize, (usize, &Arc<str>, &Arc<str>))| {
        (id.clone(), least + usize::from(number < odd))
    };
    order.into_iter().enumerate().map(quota).collect()
}

/// Those that are led by a live server, the dearest to it first.
fn by_rank_of_leader(
    leaders: &BTreeMap<Arc<str>, Option<Arc<str>>>,
    servers: &BTreeMap<Arc<str>, Arc<str>>,
) -> Vec<(Arc<str>, Arc<str>)> {
    let led = leaders.iter().filter_map(|(name, leader)| {
        let leader = leader.as_ref()?;
        let place = servers.get(leader)?;
        Some((rank(name, place), name.clone(), leader.clone()))
    });
    let mut led: Vec<_> = led.collect();
    led.sort_by(|a, b| b.cmp(a));
    led.into_iter().map(|(_, name, leader)| (name, leader)).collect()
}

fn take(room: &mut BTreeMap<Arc<str>, usize>, server: &str) -> bool {
    match room.get_mut(server) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    }
}

/// How dear a namespace is to a place: FNV-1a over both names, its bits mixed by the
/// finaliser of SplitMix64.
pub(super) fn rank(namespace: &str, place: &str) -> u64 {
    let bytes = namespace.bytes().chain([0]).chain(place.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(kind: &str, number: usize) -> Arc<str> {
        format!("{kind}-{number}").into()
    }

    fn servers(numbers: impl IntoIterator<Item = usize>) -> BTreeMap<Arc<str>, Arc<str>> {
        numbers.into_iter().map(|n| (name("id", n), name("place", n))).collect()
    }

    fn counts(
        assigned: &BTreeMap<Arc<str>, Arc<str>>,
        servers: &BTreeMap<Arc<str>, Arc<str>>,
    ) -> Vec<usize> {
        let count = |id: &Arc<str>| assigned.values().filter(|server| *server == id).count();
        servers.keys().map(count).collect()
    }

    #[test]
    fn a_new_server_takes_no_more_than_its_share() {
        let two = servers(0..2);
        let names = (0..9).map(|n| (name("ns", n), None)).collect();
        let before = assign(&names, &two);
        let led =
            before.iter().map(|(name, server)| (name.clone(), Some(server.clone()))).collect();
        let after = assign(&led, &servers(0..3));
        let moved = before.iter().filter(|(name, server)| after[*name] != **server).count();
        assert_eq!(moved, 3);
        assert_eq!(counts(&after, &servers(0..3)), [3, 3, 3]);
    }

    #[test]
    fn without_servers_nobody_is_meant() {
        let names = [(name("ns", 0), None)].into();
        assert!(assign(&names, &BTreeMap::new()).is_empty());
    }

    proptest! {
        #[test]
        fn it_is_even_and_moves_the_least(
            leaders in proptest::collection::vec(proptest::option::of(0_usize..7), 0..40),
            alive in proptest::collection::btree_set(0_usize..7, 1..7),
        ) {
            let alive = servers(alive);
            let leaders: BTreeMap<_, _> = leaders
                .into_iter()
                .enumerate()
                .map(|(n, leader)| (name("ns", n), leader.map(|it| name("id", it))))
                .collect();
            let assigned = assign(&leaders, &alive);
            prop_assert_eq!(assigned.len(), leaders.len());
            let counts = counts(&assigned, &alive);
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            prop_assert!(most - least <= 1, "{:?}", counts);
            // Every server keeps what it leads up to its share.
            for (server, count) in alive.keys().zip(&counts) {
                let led: Vec<_> = leaders.iter().filter(|(_, l)| l.as_ref() == Some(server)).collect();
                let kept = led.iter().filter(|(name, _)| assigned[*name] == *server).count();
                prop_assert_eq!(kept, led.len().min(*count));
            }
        }
    }
}
