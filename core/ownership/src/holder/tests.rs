use super::*;
use crate::message::{Grant, LeaseEnd, NextOwner, Preparation};

const LEASE: Duration = Duration::from_millis(2_000);
const BEAT: Duration = Duration::from_millis(500);

#[test]
fn a_hello_is_the_first_word_on_a_stream() {
    let mut holder = Holder::new(Settings::default());
    holder.connected(at(0));
    assert_eq!(actions(&mut holder), [send(hello(&[]))]);
}

#[test]
fn a_grant_is_started_and_runs_once_the_start_is_over() {
    let mut holder = welcomed(&[("1", 7)]);
    assert_eq!(actions(&mut holder), [start("1", 7)]);
    assert_eq!(holder.may_run(at(10), "1"), None);
    holder.started(at(10), "1", 7, Ok(()));
    assert_eq!(holder.may_run(at(10), "1"), Some(7));
    assert_eq!(actions(&mut holder), [send(said_started("1", 7))]);
}

#[test]
fn a_start_that_fails_is_told_with_its_error() {
    let mut holder = welcomed(&[("1", 7)]);
    actions(&mut holder);
    holder.started(at(10), "1", 7, Err("disk full".into()));
    let error = Some("disk full".to_owned());
    assert_eq!(
        actions(&mut holder),
        [send(Outgoing::Stopped { shard: "1".into(), generation: 7, error, state: None })]
    );
    assert!(holder.is_empty());
}

#[test]
fn a_start_that_fails_after_the_lease_is_not_told_to_stop() {
    let mut holder = welcomed(&[("1", 7)]);
    actions(&mut holder);
    holder.started(at(5_000), "1", 7, Err("disk full".into()));
    assert!(actions(&mut holder).iter().all(|action| !matches!(action, Action::Stop { .. })));
    assert!(holder.is_empty());
}

#[test]
fn a_welcome_that_crosses_a_stop_does_not_start_the_shard_again() {
    let mut holder = running(&[("1", 7), ("2", 8)]);
    holder.disconnected(at(1_000));
    holder.connected(at(1_500));
    holder.handle_timeout(at(1_600));
    holder.stopped(at(1_601), "1", 7, None);
    actions(&mut holder);
    holder.handle(at(1_700), welcome(&[("1", 7), ("2", 9)]));
    assert_eq!(holder.shards().map(|held| &**held.shard).collect::<Vec<_>>(), ["2"]);
    assert_eq!(actions(&mut holder), []);
    holder.handle(at(1_800), granted("1", 10));
    assert_eq!(actions(&mut holder), [start("1", 10)]);
}

#[test]
fn a_revocation_is_confirmed_when_the_stop_is_over() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), revoked("1", 7));
    assert_eq!(holder.may_run(at(10), "1"), None);
    assert_eq!(actions(&mut holder), [stop("1", 7, moved_away())]);
    holder.stopped(at(20), "1", 7, None);
    assert_eq!(actions(&mut holder), [send(said_stopped("1", 7))]);
}

#[test]
fn a_revocation_of_what_does_not_run_is_confirmed_at_once() {
    let mut holder = running(&[]);
    holder.handle(at(10), revoked("9", 3));
    assert_eq!(actions(&mut holder), [send(said_stopped("9", 3))]);
}

#[test]
fn an_older_revocation_is_confirmed_and_stops_nothing() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), revoked("1", 6));
    assert_eq!(actions(&mut holder), [send(said_stopped("1", 6))]);
    assert_eq!(holder.may_run(at(10), "1"), Some(7));
}

#[test]
fn a_newer_grant_of_a_running_shard_is_adopted() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), granted("1", 9));
    assert_eq!(actions(&mut holder), []);
    assert_eq!(holder.may_run(at(10), "1"), Some(9));
    holder.handle(at(11), granted("1", 8));
    assert_eq!(holder.may_run(at(11), "1"), Some(9));
}

#[test]
fn a_grant_waits_for_the_stop_before_it() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), revoked("1", 7));
    holder.handle(at(11), granted("1", 8));
    assert_eq!(actions(&mut holder).len(), 1);
    holder.stopped(at(20), "1", 7, None);
    assert_eq!(actions(&mut holder), [send(said_stopped("1", 7)), start("1", 8)]);
}

#[test]
fn a_grant_that_the_stop_will_confirm_is_void() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), revoked("1", 9));
    holder.handle(at(11), granted("1", 9));
    actions(&mut holder);
    holder.stopped(at(20), "1", 7, None);
    assert_eq!(actions(&mut holder), [send(said_stopped("1", 9))]);
}

#[test]
fn only_the_present_instance_can_report() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), revoked("1", 7));
    holder.handle(at(11), granted("1", 8));
    holder.stopped(at(12), "1", 7, None);
    actions(&mut holder);
    holder.started(at(13), "1", 7, Ok(()));
    assert_eq!(holder.may_run(at(13), "1"), None);
    holder.handle(at(14), revoked("1", 8));
    actions(&mut holder);
    holder.stopped(at(15), "1", 7, None);
    assert_eq!(actions(&mut holder), []);
}

#[test]
fn a_waiting_grant_that_is_revoked_is_not_started() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), revoked("1", 7));
    holder.handle(at(11), granted("1", 8));
    holder.handle(at(12), revoked("1", 8));
    actions(&mut holder);
    holder.stopped(at(20), "1", 7, None);
    assert_eq!(actions(&mut holder), [send(said_stopped("1", 8))]);
}

#[test]
fn a_revocation_overtakes_a_start() {
    let mut holder = welcomed(&[("1", 7)]);
    holder.handle(at(10), revoked("1", 7));
    let expected = [start("1", 7), stop("1", 7, moved_away())];
    assert_eq!(actions(&mut holder), expected);
    holder.started(at(11), "1", 7, Ok(()));
    assert_eq!(holder.may_run(at(11), "1"), None);
    holder.stopped(at(12), "1", 7, None);
    assert_eq!(actions(&mut holder), [send(said_stopped("1", 7))]);
}

#[test]
fn the_lease_counts_from_when_the_acknowledged_beat_was_sent() {
    let mut holder = running(&[("1", 7)]);
    assert_eq!(holder.lease_end(), Some(at(1_600)));
    holder.handle_timeout(at(500));
    assert_eq!(actions(&mut holder), [send(Outgoing::Beat { sequence: 1 })]);
    holder.handle(at(900), Incoming::BeatAck { sequence: 1 });
    assert_eq!(holder.lease_end(), Some(at(2_100)));
}

#[test]
fn everything_stops_when_the_lease_is_over() {
    let mut holder = running(&[("1", 7), ("2", 8)]);
    holder.disconnected(at(100));
    assert_eq!(actions(&mut holder), [Action::Reconnect(Pace::BackOff)]);
    assert_eq!(holder.may_run(at(1_599), "1"), Some(7));
    assert_eq!(holder.may_run(at(1_600), "1"), None);
    assert_eq!(holder.poll_timeout(), Some(at(1_600)));
    holder.handle_timeout(at(1_600));
    let lost = StopReason::LeaseLost;
    assert_eq!(actions(&mut holder), [stop("1", 7, lost.clone()), stop("2", 8, lost)]);
}

#[test]
fn a_silent_server_is_left_before_the_lease_is_over() {
    let mut holder = running(&[("1", 7)]);
    holder.handle_timeout(at(500));
    holder.handle_timeout(at(1_000));
    actions(&mut holder);
    assert_eq!(holder.poll_timeout(), Some(at(1_200)));
    holder.handle_timeout(at(1_200));
    assert_eq!(actions(&mut holder), [Action::Reconnect(Pace::AtOnce)]);
    assert_eq!(holder.may_run(at(1_300), "1"), Some(7));
}

#[test]
fn an_acknowledgement_of_an_earlier_stream_counts_for_nothing() {
    let mut holder = running(&[("1", 7)]);
    holder.handle_timeout(at(500));
    holder.disconnected(at(510));
    holder.connected(at(520));
    holder.handle(at(530), Incoming::BeatAck { sequence: 1 });
    assert_eq!(holder.lease_end(), Some(at(1_600)));
}

#[test]
fn a_hello_after_a_reconnect_names_what_runs_and_what_stops() {
    let mut holder = running(&[("1", 7), ("2", 8)]);
    holder.handle(at(10), revoked("2", 8));
    holder.disconnected(at(20));
    actions(&mut holder);
    holder.connected(at(30));
    assert_eq!(actions(&mut holder), [send(hello(&[("1", 7, false), ("2", 8, true)]))]);
}

#[test]
fn what_the_welcome_does_not_grant_is_stopped_and_confirmed() {
    let mut holder = running(&[("1", 7), ("2", 8)]);
    reconnect(&mut holder, 20);
    holder.handle(at(40), welcome(&[("2", 8), ("3", 9)]));
    let expected =
        [stop("1", 7, StopReason::NotGranted), start("3", 9), send(said_started("2", 8))];
    assert_eq!(actions(&mut holder), expected);
    holder.stopped(at(50), "1", 7, None);
    assert_eq!(actions(&mut holder), [send(said_stopped("1", 7))]);
}

#[test]
fn a_welcome_that_comes_too_late_grants_nothing() {
    let mut holder = Holder::new(Settings::default());
    holder.connected(at(0));
    actions(&mut holder);
    holder.handle(at(1_700), welcome(&[("1", 7)]));
    assert_eq!(actions(&mut holder), [Action::Reconnect(Pace::BackOff)]);
    assert!(holder.is_empty());
}

#[test]
fn a_missing_welcome_is_not_waited_for_forever() {
    let mut holder = Holder::new(Settings::default());
    holder.connected(at(0));
    actions(&mut holder);
    assert_eq!(holder.poll_timeout(), Some(at(5_000)));
    holder.handle_timeout(at(5_000));
    assert_eq!(actions(&mut holder), [Action::Reconnect(Pace::BackOff)]);
}

#[test]
fn an_expired_lease_stops_everything_and_says_hello_again() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), Incoming::Farewell(FarewellReason::Expired));
    assert_eq!(holder.may_run(at(10), "1"), None);
    let expected = [stop("1", 7, StopReason::LeaseLost), Action::Reconnect(Pace::AtOnce)];
    assert_eq!(actions(&mut holder), expected);
}

#[test]
fn a_replaced_executor_is_finished_when_everything_stopped() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), Incoming::Farewell(FarewellReason::Replaced));
    assert_eq!(actions(&mut holder), [stop("1", 7, StopReason::Replaced)]);
    holder.stopped(at(20), "1", 7, None);
    assert_eq!(actions(&mut holder), [Action::Finished(Finish::Replaced)]);
    holder.connected(at(30));
    assert_eq!(actions(&mut holder), []);
}

#[test]
fn a_deleted_namespace_is_asked_for_seldom() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), Incoming::Farewell(FarewellReason::NamespaceDeleted));
    let expected = [stop("1", 7, StopReason::NamespaceDeleted), Action::Reconnect(Pace::Slowly)];
    assert_eq!(actions(&mut holder), expected);
}

#[test]
fn a_leaving_server_stops_nothing() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), Incoming::Farewell(FarewellReason::ServerLeaving));
    assert_eq!(actions(&mut holder), [Action::Reconnect(Pace::AtOnce)]);
    assert_eq!(holder.may_run(at(10), "1"), Some(7));
}

#[test]
fn leaving_is_said_again_on_every_stream() {
    let mut holder = running(&[("1", 7)]);
    holder.leave(at(10));
    assert_eq!(actions(&mut holder), [send(Outgoing::Leaving)]);
    holder.disconnected(at(20));
    holder.connected(at(30));
    let expected = [
        Action::Reconnect(Pace::BackOff),
        send(hello(&[("1", 7, false)])),
        send(Outgoing::Leaving),
    ];
    assert_eq!(actions(&mut holder), expected);
}

#[test]
fn a_goodbye_is_said_when_everything_stopped() {
    let mut holder = running(&[("1", 7)]);
    holder.goodbye(at(10));
    let expected = [send(Outgoing::Leaving), stop("1", 7, StopReason::Shutdown)];
    assert_eq!(actions(&mut holder), expected);
    holder.stopped(at(20), "1", 7, None);
    assert_eq!(actions(&mut holder), [send(said_stopped("1", 7)), send(goodbye())]);
    holder.handle(at(30), Incoming::Farewell(FarewellReason::Goodbye));
    assert_eq!(actions(&mut holder), [Action::Finished(Finish::Goodbye)]);
}

#[test]
fn a_goodbye_that_was_cut_off_is_said_again() {
    let mut holder = running(&[]);
    holder.goodbye(at(10));
    holder.disconnected(at(20));
    actions(&mut holder);
    holder.connected(at(30));
    let expected = [send(hello(&[])), send(Outgoing::Leaving), send(goodbye())];
    assert_eq!(actions(&mut holder), expected);
}

#[test]
fn a_grant_during_a_goodbye_is_given_back() {
    let mut holder = running(&[("1", 7)]);
    holder.goodbye(at(10));
    actions(&mut holder);
    holder.handle(at(11), granted("2", 8));
    assert_eq!(actions(&mut holder), [send(said_stopped("2", 8))]);
}

#[test]
fn work_that_is_done_is_told_once_the_shard_runs_and_again_after_a_reconnect() {
    let mut holder = welcomed(&[("1", 7)]);
    actions(&mut holder);
    holder.done(at(5), "1");
    assert_eq!(actions(&mut holder), []);
    holder.started(at(10), "1", 7, Ok(()));
    let told = [send(said_started("1", 7)), send(said_done("1", 7))];
    assert_eq!(actions(&mut holder), told);
    reconnect(&mut holder, 20);
    holder.handle(at(40), welcome(&[("1", 7)]));
    assert_eq!(actions(&mut holder), told);
}

#[test]
fn a_shard_that_stopped_by_itself_is_not_started_under_the_grant_it_confirms() {
    let mut holder = running(&[("1", 7)]);
    holder.disconnected(at(100));
    holder.handle_timeout(at(1_600));
    holder.connected(at(1_700));
    actions(&mut holder);
    holder.handle(at(1_710), welcome(&[("1", 7)]));
    assert_eq!(actions(&mut holder), []);
    holder.stopped(at(1_720), "1", 7, None);
    assert_eq!(actions(&mut holder), [send(said_stopped("1", 7))]);
}

#[test]
fn what_the_owner_leaves_goes_with_the_confirmation_and_comes_with_the_grant() {
    let mut holder = running(&[("1", 7)]);
    let next = NextOwner { executor: "b".into(), address: "10.0.0.2:80".into() };
    let reason = StopReason::Revoked { reason: "move".into(), next: Some(next.clone()) };
    let revocation =
        Revocation { shard: "1".into(), generation: 7, reason: "move".into(), next: Some(next) };
    holder.handle(at(10), Incoming::Revoked(vec![revocation]));
    assert_eq!(actions(&mut holder), [stop("1", 7, reason)]);
    let state: State = vec![1, 2, 3].into();
    holder.stopped(at(20), "1", 7, Some(state.clone()));
    let told = Outgoing::Stopped {
        shard: "1".into(),
        generation: 7,
        error: None,
        state: Some(state.clone()),
    };
    assert_eq!(actions(&mut holder), [send(told)]);
    let grant = Grant { state: Some(state), previous: Some("b".into()), ..Grant::new("1", 9) };
    holder.handle(at(30), Incoming::Granted(vec![grant.clone()]));
    assert_eq!(actions(&mut holder), [Action::Start(grant)]);
}

#[test]
fn what_a_stop_leaves_is_said_again_on_the_next_stream_until_a_later_beat_is_heard() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), revoked("1", 7));
    holder.stopped(at(20), "1", 7, Some(vec![7].into()));
    holder.disconnected(at(30));
    actions(&mut holder);
    holder.connected(at(40));
    let expected = [send(hello(&[("1", 7, true)])), send(said_left("1", 7))];
    assert_eq!(actions(&mut holder), expected);
    holder.handle(at(50), welcome(&[]));
    holder.handle(at(60), revoked("1", 7));
    holder.handle_timeout(at(540));
    let expected = [send(said_stopped("1", 7)), send(Outgoing::Beat { sequence: 1 })];
    assert_eq!(actions(&mut holder), expected, "there is nothing left to stop");
    holder.handle(at(550), Incoming::BeatAck { sequence: 1 });
    holder.disconnected(at(560));
    actions(&mut holder);
    holder.connected(at(570));
    assert_eq!(actions(&mut holder), [send(hello(&[]))]);
}

#[test]
fn what_a_stop_leaves_is_not_said_again_once_the_shard_is_back() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), revoked("1", 7));
    holder.stopped(at(20), "1", 7, Some(vec![7].into()));
    holder.handle(at(30), granted("1", 9));
    reconnect_and_expect(&mut holder, 40, hello(&[("1", 9, false)]));
}

#[test]
fn what_a_stop_leaves_is_not_said_again_once_the_lease_is_over() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), revoked("1", 7));
    holder.stopped(at(20), "1", 7, Some(vec![7].into()));
    holder.disconnected(at(30));
    reconnect_and_expect(&mut holder, 1_600, hello(&[]));
}

#[test]
fn a_welcome_is_waited_for_no_longer_than_its_lease_could_be_used() {
    let mut holder = running(&[("1", 7)]);
    reconnect(&mut holder, 3_000);
    assert_eq!(holder.poll_timeout(), Some(at(4_600)));
    holder.handle_timeout(at(4_600));
    assert_eq!(actions(&mut holder), [Action::Reconnect(Pace::BackOff)]);
}

#[test]
fn a_state_that_is_too_large_is_not_handed_over() {
    let mut holder = running(&[("1", 7)]);
    holder.handle(at(10), revoked("1", 7));
    actions(&mut holder);
    holder.stopped(at(20), "1", 7, Some(vec![0; MAX_STATE_BYTES + 1].into()));
    assert_eq!(actions(&mut holder), [send(said_stopped("1", 7))]);
}

#[test]
fn what_an_instance_of_long_ago_leaves_is_not_handed_over() {
    let mut holder = running(&[("1", 7)]);
    holder.disconnected(at(100));
    holder.handle_timeout(at(1_600));
    reconnect(&mut holder, 9_000);
    holder.handle(at(9_010), welcome(&[]));
    holder.handle(at(9_020), revoked("1", 19));
    holder.stopped(at(9_030), "1", 7, Some(vec![7].into()));
    assert_eq!(actions(&mut holder), [send(said_stopped("1", 19))]);
}

#[test]
fn what_is_to_come_is_made_ready_told_once_and_used_up_by_the_grant() {
    let mut holder = running(&[]);
    holder.handle(at(10), prepare("1", 7));
    assert_eq!(actions(&mut holder), [Action::Prepare(preparation("1", 7))]);
    holder.prepared(at(20), "1", 6, Ok(()));
    assert_eq!(actions(&mut holder), [], "that was another preparation");
    holder.prepared(at(20), "1", 7, Ok(()));
    assert_eq!(actions(&mut holder), [send(said_prepared("1", 7))]);
    holder.handle(at(30), granted("1", 8));
    assert_eq!(actions(&mut holder), [start("1", 8)]);
    holder.handle(at(40), Incoming::Abandon(vec![preparation("1", 7)]));
    assert_eq!(actions(&mut holder), [], "there is nothing left to give free");
}

#[test]
fn a_preparation_that_fails_is_told_with_its_error() {
    let mut holder = running(&[]);
    holder.handle(at(10), prepare("1", 7));
    actions(&mut holder);
    holder.prepared(at(20), "1", 7, Err("no memory".into()));
    let error = Some("no memory".to_owned());
    assert_eq!(
        actions(&mut holder),
        [send(Outgoing::Prepared { shard: "1".into(), generation: 7, error })]
    );
}

#[test]
fn a_welcome_says_what_is_still_to_be_made_ready() {
    let mut holder = running(&[]);
    holder.handle(at(10), prepare("1", 7));
    holder.handle(at(10), prepare("2", 8));
    actions(&mut holder);
    holder.prepared(at(20), "1", 7, Ok(()));
    reconnect(&mut holder, 30);
    holder.handle(at(40), welcome_to(LeaseEnd::Stop, &[], &[("1", 9)]));
    let told = [Action::Abandon(preparation("2", 8)), send(said_prepared("1", 9))];
    assert_eq!(actions(&mut holder), told);
}

#[test]
fn nothing_is_made_ready_by_an_executor_that_leaves() {
    let mut holder = running(&[]);
    holder.handle(at(10), prepare("1", 7));
    holder.leave(at(11));
    actions(&mut holder);
    holder.handle(at(12), prepare("2", 8));
    let [Action::Send(Outgoing::Prepared { error: Some(error), .. })] = &actions(&mut holder)[..]
    else {
        panic!("no refusal")
    };
    assert_eq!(error, "the executor is leaving");
    holder.goodbye(at(13));
    assert_eq!(actions(&mut holder), [Action::Abandon(preparation("1", 7)), send(goodbye())]);
}

#[test]
fn shards_outlive_the_lease_where_the_namespace_says_so() {
    let mut holder = Holder::new(Settings::default());
    holder.connected(at(0));
    holder.handle(at(0), welcome_to(LeaseEnd::Keep, &[("1", 7)], &[]));
    holder.started(at(0), "1", 7, Ok(()));
    holder.disconnected(at(100));
    actions(&mut holder);
    holder.handle_timeout(at(1_600));
    assert_eq!(actions(&mut holder), [Action::LeaseOutlived]);
    assert_eq!((holder.lease_end(), holder.may_run(at(90_000), "1")), (None, Some(7)));
    assert_eq!(holder.poll_timeout(), None, "nothing more is due");
    holder.connected(at(100_000));
    assert_eq!(actions(&mut holder), [send(hello(&[("1", 7, false)]))]);
    holder.handle(at(100_010), welcome_to(LeaseEnd::Keep, &[("1", 7)], &[]));
    assert_eq!(holder.lease_end(), Some(at(101_600)));
    assert_eq!(actions(&mut holder), [send(said_started("1", 7))]);
}

#[test]
fn shards_that_outlived_the_lease_stop_when_the_server_says_that_it_was_over() {
    let mut holder = Holder::new(Settings::default());
    holder.connected(at(0));
    holder.handle(at(0), welcome_to(LeaseEnd::Keep, &[("1", 7)], &[]));
    holder.started(at(0), "1", 7, Ok(()));
    actions(&mut holder);
    holder.handle(at(10), Incoming::Farewell(FarewellReason::Expired));
    assert_eq!(holder.may_run(at(10), "1"), None);
    assert_eq!(actions(&mut holder)[0], stop("1", 7, StopReason::LeaseLost));
}

#[test]
fn an_executor_that_comes_back_stops_in_silence_and_says_so_at_the_end() {
    let mut holder = running(&[("1", 7), ("2", 8)]);
    holder.goodbye_for_now(at(10));
    let stops = [stop("1", 7, StopReason::Shutdown), stop("2", 8, StopReason::Shutdown)];
    assert_eq!(actions(&mut holder), stops);
    holder.handle(at(15), revoked("2", 8));
    holder.handle(at(16), granted("3", 9));
    holder.stopped(at(20), "1", 7, None);
    assert_eq!(actions(&mut holder), [], "its goodbye will say it");
    holder.stopped(at(30), "2", 8, None);
    let told = [send(said_stopped("2", 8)), send(Outgoing::Goodbye { returning: true })];
    assert_eq!(actions(&mut holder), told, "what was revoked is confirmed all the same");
    holder.handle(at(40), Incoming::Farewell(FarewellReason::Goodbye));
    assert_eq!(actions(&mut holder), [Action::Finished(Finish::Goodbye)]);
}

fn running(shards: &[(&str, u64)]) -> Holder {
    let mut holder = welcomed(shards);
    for (shard, generation) in shards {
        holder.started(at(0), shard, *generation, Ok(()));
    }
    actions(&mut holder);
    holder
}

fn welcomed(shards: &[(&str, u64)]) -> Holder {
    let mut holder = Holder::new(Settings::default());
    holder.connected(at(0));
    actions(&mut holder);
    holder.handle(at(0), welcome(shards));
    holder
}

fn reconnect(holder: &mut Holder, millis: u64) {
    holder.disconnected(at(millis));
    holder.connected(at(millis));
    actions(holder);
}

fn reconnect_and_expect(holder: &mut Holder, millis: u64, hello: Outgoing) {
    holder.disconnected(at(millis));
    actions(holder);
    holder.connected(at(millis));
    assert_eq!(actions(holder), [send(hello)]);
}

fn actions(holder: &mut Holder) -> Vec<Action> {
    std::iter::from_fn(|| holder.poll_action()).collect()
}

fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}

fn send(message: Outgoing) -> Action {
    Action::Send(message)
}

fn start(shard: &str, generation: u64) -> Action {
    Action::Start(Grant::new(shard, generation))
}

fn stop(shard: &str, generation: u64, reason: StopReason) -> Action {
    Action::Stop { shard: shard.into(), generation, reason }
}

fn hello(running: &[(&str, u64, bool)]) -> Outgoing {
    let holding = |(shard, generation, stopping): &(&str, u64, bool)| Holding {
        shard: (*shard).into(),
        generation: *generation,
        stopping: *stopping,
    };
    Outgoing::Hello { running: running.iter().map(holding).collect() }
}

fn said_started(shard: &str, generation: u64) -> Outgoing {
    Outgoing::Started { shard: shard.into(), generation }
}

fn said_stopped(shard: &str, generation: u64) -> Outgoing {
    Outgoing::Stopped { shard: shard.into(), generation, error: None, state: None }
}

fn said_left(shard: &str, generation: u64) -> Outgoing {
    let state = Some(vec![7].into());
    Outgoing::Stopped { shard: shard.into(), generation, error: None, state }
}

fn said_done(shard: &str, generation: u64) -> Outgoing {
    Outgoing::Done { shard: shard.into(), generation }
}

fn goodbye() -> Outgoing {
    Outgoing::Goodbye { returning: false }
}

fn moved_away() -> StopReason {
    StopReason::Revoked { reason: "move".into(), next: None }
}

fn welcome(grants: &[(&str, u64)]) -> Incoming {
    welcome_to(LeaseEnd::Stop, grants, &[])
}

fn welcome_to(lease_end: LeaseEnd, grants: &[(&str, u64)], prepare: &[(&str, u64)]) -> Incoming {
    let grants = grants.iter().map(|(shard, generation)| Grant::new(*shard, *generation));
    let preparations = prepare.iter().map(|(shard, generation)| preparation(shard, *generation));
    Incoming::Welcome {
        lease: LEASE,
        beat: BEAT,
        lease_end,
        grants: grants.collect(),
        preparations: preparations.collect(),
    }
}

fn granted(shard: &str, generation: u64) -> Incoming {
    Incoming::Granted(vec![Grant::new(shard, generation)])
}

fn revoked(shard: &str, generation: u64) -> Incoming {
    let (shard, reason) = (shard.into(), "move".into());
    Incoming::Revoked(vec![Revocation { shard, generation, reason, next: None }])
}

fn preparation(shard: &str, generation: u64) -> Preparation {
    Preparation { shard: shard.into(), generation }
}

fn prepare(shard: &str, generation: u64) -> Incoming {
    Incoming::Prepare(vec![preparation(shard, generation)])
}

fn said_prepared(shard: &str, generation: u64) -> Outgoing {
    Outgoing::Prepared { shard: shard.into(), generation, error: None }
}
