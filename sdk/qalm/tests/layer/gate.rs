//! The shell around the shedder: places are given back once, whatever happens.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use plimsoll_qalm::shedding::Criticality;
use plimsoll_qalm::shedding::request::{CallerIndex, QueueIndex, Request};
use plimsoll_qalm::shedding::settings::{Auto, Enforcement, QueueSettings, ServiceSettings};
use plimsoll_qalm::shedding::verdict::{Outcome, Reason};
use plimsoll_qalm::{Admission, Gate};

use crate::harness::in_time;

pub(crate) fn gate_with(limit: u32) -> (Gate, QueueIndex) {
    let gate = Gate::with_seed(ServiceSettings::default(), 7);
    let settings = QueueSettings { concurrency: Auto::Fixed(limit), ..QueueSettings::default() };
    let queue = gate.add_queue("orders", settings);
    (gate, queue)
}

pub(crate) fn request(queue: QueueIndex) -> Request {
    Request {
        queue,
        level: Criticality::CoreFlow,
        cohort: Default::default(),
        caller: CallerIndex(0),
        deadline: None,
        bytes: 0,
        enforcement: Enforcement::Enforce,
    }
}

fn inflight(gate: &Gate, queue: QueueIndex) -> u32 {
    gate.queue(queue).unwrap().view.inflight
}

fn waiting(gate: &Gate, queue: QueueIndex) -> u32 {
    gate.queue(queue).unwrap().view.waiting.iter().sum()
}

/// Polls once, so that the request is in the queue.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx))).await
}

#[tokio::test]
async fn a_place_that_is_finished_goes_to_the_one_that_waits() {
    let (gate, queue) = gate_with(1);
    let first = gate.admit(request(queue)).await.unwrap();
    let mut second = pin!(gate.admit(request(queue)));
    assert!(poll_once(&mut second).await.is_pending());
    assert_eq!((inflight(&gate, queue), waiting(&gate, queue)), (1, 1));
    first.finish(Outcome::Answered);
    let second = in_time(second).await.unwrap();
    assert_eq!((inflight(&gate, queue), waiting(&gate, queue)), (1, 0));
    drop(second);
    assert_eq!(inflight(&gate, queue), 0);
}

#[tokio::test]
async fn a_waiter_that_is_dropped_leaves_the_queue_at_once() {
    let (gate, queue) = gate_with(1);
    let _first = gate.admit(request(queue)).await.unwrap();
    let Admission::Queued(mut second) = gate.arrive(&request(queue)) else { panic!("no queue") };
    assert!(poll_once(&mut second).await.is_pending());
    drop(second);
    assert_eq!((inflight(&gate, queue), waiting(&gate, queue)), (1, 0));
}

#[tokio::test]
async fn a_verdict_that_nobody_fetches_gives_its_place_back() {
    let (gate, queue) = gate_with(1);
    let first = gate.admit(request(queue)).await.unwrap();
    let Admission::Queued(second) = gate.arrive(&request(queue)) else { panic!("no queue") };
    first.finish(Outcome::Answered);
    assert_eq!(inflight(&gate, queue), 1, "the second has it, and does not know yet");
    drop(second);
    assert_eq!((inflight(&gate, queue), waiting(&gate, queue)), (0, 0));
}

#[tokio::test]
async fn a_slot_used_again_before_its_verdict_was_fetched_mixes_nothing_up() {
    let (gate, queue) = gate_with(1);
    let first = gate.admit(request(queue)).await.unwrap();
    let Admission::Queued(second) = gate.arrive(&request(queue)) else { panic!("no queue") };
    first.finish(Outcome::Answered);
    // The second has its verdict; the third takes its slot.
    let Admission::Queued(third) = gate.arrive(&request(queue)) else { panic!("no queue") };
    let second = in_time(second).await.unwrap();
    second.finish(Outcome::Answered);
    in_time(third).await.unwrap().finish(Outcome::Answered);
    assert_eq!((inflight(&gate, queue), waiting(&gate, queue)), (0, 0));
}

#[tokio::test]
async fn a_handler_that_panics_gives_its_place_back() {
    let (gate, queue) = gate_with(1);
    let place = gate.admit(request(queue)).await.unwrap();
    let handler = tokio::spawn(async move {
        let _place = place;
        panic!("on purpose");
    });
    assert!(handler.await.is_err());
    assert_eq!(inflight(&gate, queue), 0);
}

#[tokio::test]
async fn those_who_wait_are_refused_when_the_gate_shuts_down() {
    let (gate, queue) = gate_with(1);
    let first = gate.admit(request(queue)).await.unwrap();
    let Admission::Queued(second) = gate.arrive(&request(queue)) else { panic!("no queue") };
    gate.shut_down();
    assert_eq!(in_time(second).await.unwrap_err().reason, Reason::ShuttingDown);
    assert_eq!(gate.admit(request(queue)).await.unwrap_err().reason, Reason::ShuttingDown);
    first.finish(Outcome::Answered);
    assert_eq!(inflight(&gate, queue), 0);
}

#[tokio::test]
async fn one_past_its_deadline_is_told_without_anything_else_happening() {
    let (gate, queue) = gate_with(1);
    let _first = gate.admit(request(queue)).await.unwrap();
    let deadline = Some(gate.deadline_in(Duration::from_millis(20)));
    let second = gate.admit(Request { deadline, ..request(queue) });
    assert_eq!(in_time(second).await.unwrap_err().reason, Reason::Expired);
    assert_eq!(waiting(&gate, queue), 0);
}

#[test]
fn the_timer_outlives_the_runtime_that_it_was_started_on() {
    let (gate, queue) = gate_with(1);
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let first = runtime().block_on(gate.admit(request(queue))).unwrap();
    for _ in 0..2 {
        let reason = runtime().block_on(async {
            let deadline = Some(gate.deadline_in(Duration::from_millis(5)));
            in_time(gate.admit(Request { deadline, ..request(queue) })).await.unwrap_err().reason
        });
        assert_eq!(reason, Reason::Expired);
    }
    first.finish(Outcome::Answered);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_that_come_wait_leave_and_panic_lose_no_place() {
    let (gate, queue) = gate_with(4);
    let tasks: Vec<_> = (0..4000u64)
        .map(|number| {
            let gate = gate.clone();
            tokio::spawn(async move {
                let admit = gate.admit(request(queue));
                let patience = Duration::from_micros(number % 7 * 300);
                let Ok(Ok(place)) = tokio::time::timeout(patience, admit).await else { return };
                tokio::task::yield_now().await;
                assert!(number % 11 != 0, "on purpose");
                place.finish(Outcome::Answered);
            })
        })
        .collect();
    for task in tasks {
        let _panicked = in_time(task).await;
    }
    assert_eq!((inflight(&gate, queue), waiting(&gate, queue)), (0, 0));
    in_time(gate.admit(request(queue))).await.unwrap().finish(Outcome::Answered);
}

/// Waits with a deadline on one runtime after the gate's timer was started on
/// another, which then is left as `leave` says.
fn expires_after(leave: impl FnOnce(tokio::runtime::Runtime) -> Option<tokio::runtime::Runtime>) {
    let (gate, queue) = gate_with(1);
    let mut mortal = request(queue);
    let one = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut two = tokio::runtime::Builder::new_multi_thread();
    let two = two.worker_threads(1).enable_all().build().unwrap();
    let held = two.block_on(gate.admit(mortal)).unwrap();
    one.block_on(async {
        let waits = gate.admit(mortal);
        assert!(tokio::time::timeout(Duration::from_millis(1), waits).await.is_err());
    });
    mortal.deadline = Some(gate.deadline_in(Duration::from_millis(100)));
    let other = gate.clone();
    let waits = two.spawn(async move { other.admit(mortal).await });
    while waiting(&gate, queue) == 0 {
        std::thread::yield_now();
    }
    let left = leave(one);
    let refusal = two.block_on(async { in_time(waits).await.unwrap().unwrap_err() });
    assert_eq!(refusal.reason, Reason::Expired);
    drop((left, held));
}

#[test]
fn who_waits_is_told_though_the_runtime_of_the_timer_is_gone() {
    expires_after(|runtime| {
        drop(runtime);
        None
    });
}

#[test]
fn who_waits_is_told_though_the_runtime_of_the_timer_stands_still() {
    expires_after(Some);
}
