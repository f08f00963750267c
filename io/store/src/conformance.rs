//! What every store has to do, whoever wrote it: one suite, run against each.
//!
//! A test is a plain function from a [`Place`] to a result; [`conformance_tests!`]
//! makes a `#[tokio::test]` of each. Tests that need a store to remember pass at once
//! where it says that it does not. Speed is not looked at here.
//!
//! [`conformance_tests!`]: crate::conformance_tests

mod batches;
mod durability;
mod fencing;
mod keys;
mod lifecycle;
mod policies;
mod records;
mod scale;

use std::fmt;
use std::sync::Arc;

pub use batches::*;
pub use durability::*;
pub use fencing::*;
pub use keys::*;
pub use lifecycle::*;
pub use policies::*;
pub use records::*;
pub use scale::*;

use crate::record::{DrainRecord, GrantRecord, Kind, NamespaceRecord, Stored, Write};
use crate::{Answer, Epoch, Error, Store};

/// Where stores under test live. Each test gets a place of its own, empty at first.
pub trait Place: fmt::Debug + Send + Sync {
    /// Opens the store in this place. A durable one finds again what earlier ones
    /// here, which are closed by then, have kept.
    fn open(&self) -> Answer<'_, Arc<dyn Store>>;
}

/// Makes one test of each function of the suite. `$place` is evaluated for each.
#[macro_export]
macro_rules! conformance_tests {
    ($place:expr) => {
        $crate::conformance_tests! { @each $place =>
            creates_a_namespace_only_once
            creates_a_namespace_with_its_first_records
            lists_namespaces_in_order_of_name
            deletes_everything_of_a_namespace
            refuses_what_is_not_there
            leaves_namespaces_with_a_common_prefix_alone
            applies_a_batch_in_order
            applies_an_empty_batch
            refuses_a_batch_with_the_record_of_another_namespace_whole
            applies_changes_in_the_order_of_the_calls
            keeps_concurrent_batches_whole
            keeps_a_change_whose_answer_is_dropped
            fences_out_the_earlier_leader
            fences_out_whoever_never_led
            elects_one_of_many_concurrent_leaders
            leads_namespaces_apart
            fences_leaders_of_a_deleted_namespace_out_of_its_successor
            a_fenced_batch_does_not_spoil_its_neighbours
            replaces_and_releases_grants
            keeps_drains_of_shards_and_hosts_apart
            never_lowers_the_generation_floor
            replaces_the_record_of_a_namespace
            replaces_loads_whole
            keeps_extreme_numbers
            keeps_odd_keys
            loads_a_hundred_thousand_shards_in_order
            remembers_everything_when_opened_again
            forgets_for_good_what_was_deleted
            never_gives_an_epoch_out_twice
            keeps_every_revision_of_a_policy
            keeps_policies_of_odd_services_apart
            refuses_a_policy_that_does_not_follow_the_newest
            of_many_who_save_at_once_one_wins_each_revision
            keeps_the_newest_revisions_of_a_policy
            keeps_the_longest_text_and_refuses_a_longer_one
            begins_a_policy_anew_once_it_is_forgotten
            tells_whoever_watches_of_the_last_revision
            remembers_policies_when_opened_again
        }
    };
    (@each $place:expr => $($name:ident)+) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() -> Result<(), $crate::Error> {
                $crate::conformance::$name(&$place).await
            }
        )+
    };
}

const NAME: &str = "orders";

fn namespace(name: &str) -> NamespaceRecord {
    NamespaceRecord {
        name: name.into(),
        kind: Kind::Ephemeral,
        settings: Vec::new(),
        frozen: false,
    }
}

fn grant(shard: &str, executor: &str, generation: u64) -> Write {
    Write::Grant {
        shard: shard.into(),
        grant: GrantRecord { executor: executor.into(), generation },
    }
}

fn release(shard: &str) -> Write {
    Write::Release { shard: shard.into() }
}

fn drain(reason: &str) -> DrainRecord {
    DrainRecord {
        drained_at_ms: 1_700_000_000_000,
        drained_by: "ada".into(),
        reason: reason.into(),
    }
}

fn drain_shard(shard: &str, reason: &str) -> Write {
    Write::DrainShard { shard: shard.into(), drain: drain(reason) }
}

fn drain_host(host: &str, reason: &str) -> Write {
    Write::DrainHost { host: host.into(), drain: drain(reason) }
}

fn loads(loads: &[(&str, f64)]) -> Write {
    Write::Loads(loads.iter().map(|(shard, load)| ((*shard).into(), *load)).collect())
}

/// Shard, executor and generation of every grant.
fn granted(stored: &Stored) -> Vec<(&str, &str, u64)> {
    let grants = stored.grants.iter();
    grants.map(|(shard, grant)| (&**shard, &*grant.executor, grant.generation)).collect()
}

/// A store in `place` with one namespace, [`NAME`], and its leader.
async fn led(place: &dyn Place) -> Result<(Arc<dyn Store>, Epoch), Error> {
    let store = place.open().await?;
    store.create(namespace(NAME), Vec::new()).await?;
    let epoch = store.lead(NAME).await?;
    Ok((store, epoch))
}
