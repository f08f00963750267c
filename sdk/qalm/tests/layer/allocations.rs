//! The gate allocates nothing while nobody waits.

use allocation_counter::measure;
use plimsoll_qalm::Admission;
use plimsoll_qalm::shedding::verdict::Outcome;

use crate::gate::{gate_with, request};

#[test]
fn admitting_and_completing_allocates_nothing() {
    let (gate, queue) = gate_with(4);
    let request = request(queue);
    let once = || {
        let Admission::Admitted(place) = gate.arrive(&request) else { panic!("not admitted") };
        place.finish(Outcome::Answered);
    };
    once();
    let allocated = measure(|| (0..1000).for_each(|_| once()));
    assert_eq!(allocated.count_total, 0);
}

#[test]
fn refusing_allocates_nothing() {
    let (gate, queue) = gate_with(1);
    let request = request(queue);
    let Admission::Admitted(_place) = gate.arrive(&request) else { panic!("not admitted") };
    gate.shut_down();
    let once = || assert!(matches!(gate.arrive(&request), Admission::Refused(_)));
    once();
    assert_eq!(measure(|| (0..1000).for_each(|_| once())).count_total, 0);
}
