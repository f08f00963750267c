//! A namespace on its way from one server to the next, to and from `plimsoll.v1`.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::action::RevokeReason;
use plimsoll_ownership::handover::{
    ExecutorState, FailureState, HandoverState, LegacyState, LinkState, NextState, PhaseState,
    ShardState,
};
use plimsoll_placement::plan::MoveReason;

use crate::v1;
use crate::v1::handed_shard::{
    Failure, Granting, Legacy, Owned, Phase, Preparing, Revoking, Unowned,
};

/// What a server of another version says that this one does not understand.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotUnderstood {
    #[error("{0:?} is not a reason why a shard moves")]
    Reason(String),
    #[error("shard {0:?} is in no phase that this version knows")]
    Phase(String),
    #[error("executor {0:?} speaks in no way that this version knows")]
    Link(String),
}

// === core to wire ===

impl From<&HandoverState> for v1::HandoverState {
    fn from(state: &HandoverState) -> Self {
        let suspects = state.suspects.iter().map(|(shard, hosts)| v1::Suspects {
            shard_key: shard.to_string(),
            hosts: hosts.iter().map(ToString::to_string).collect(),
        });
        Self {
            generation: state.generation,
            executors: state.executors.iter().map(Into::into).collect(),
            shards: state.shards.iter().map(Into::into).collect(),
            suspects: suspects.collect(),
            mass_failure_for: state.mass_failure_for.map(micros),
            overlap_for: state.overlap_for.map(micros),
            reset_after: state.reset_after,
        }
    }
}

impl From<&ExecutorState> for v1::HandedExecutor {
    fn from(executor: &ExecutorState) -> Self {
        let metadata = executor.metadata.iter();
        Self {
            executor_id: executor.id.to_string(),
            host: executor.host.to_string(),
            metadata: metadata.map(|(key, value)| (key.clone(), value.clone())).collect(),
            link: link_to_wire(executor.link).into(),
            attempt: executor.attempt,
            told_lease: micros(executor.told_lease),
            promised_for: micros(executor.promised_for),
            heard_ago: micros(executor.heard_ago),
            held_for: executor.held_for.map(micros),
            open_since: executor.open_since.map(micros),
            version_since: executor.version_since.map(micros),
            away_for: executor.away_for.map(micros),
            leaving: executor.leaving,
            prepares: executor.prepares,
            wire_status: executor.wire_status,
        }
    }
}

impl From<&ShardState> for v1::HandedShard {
    fn from(shard: &ShardState) -> Self {
        Self {
            shard_key: shard.key.to_string(),
            generation: shard.generation,
            owner: shard.owner,
            phase: Some(phase_to_wire(shard.phase)),
            since: micros(shard.since),
            moved: shard.moved.map(micros),
            load: shard.load,
            move_cost: shard.move_cost,
            reported_running: shard.reported_running,
            inherited: shard.inherited,
            failure: shard.failure.as_ref().map(failure_to_wire),
            legacy: shard.legacy.as_ref().map(legacy_to_wire),
        }
    }
}

fn link_to_wire(link: LinkState) -> v1::handed_executor::Link {
    match link {
        LinkState::Unheard => v1::handed_executor::Link::Unheard,
        LinkState::Session => v1::handed_executor::Link::Session,
        LinkState::Unary => v1::handed_executor::Link::Unary,
    }
}

fn phase_to_wire(phase: PhaseState) -> Phase {
    match phase {
        PhaseState::Unowned => Phase::Unowned(Unowned {}),
        PhaseState::Granting => Phase::Granting(Granting {}),
        PhaseState::Owned { told } => Phase::Owned(Owned { told }),
        PhaseState::Preparing { to, reason, left } => {
            let (reason, left) = (reason.as_str().to_owned(), micros(left));
            Phase::Preparing(Preparing { to, reason, left })
        }
        PhaseState::Revoking { next, reason, told } => {
            let (to, r#move) = match next {
                NextState::To(to, reason) => (Some(to), reason.as_str()),
                NextState::Anyone | NextState::Release => (None, ""),
            };
            Phase::Revoking(Revoking {
                to,
                r#move: r#move.to_owned(),
                release: next == NextState::Release,
                reason: reason.as_str().to_owned(),
                told,
            })
        }
    }
}

fn failure_to_wire(failure: &FailureState) -> Failure {
    let (count, retry_in) = (failure.count, micros(failure.retry_in));
    Failure { count, retry_in, error: failure.error.clone() }
}

fn legacy_to_wire(legacy: &LegacyState) -> Legacy {
    Legacy {
        from: legacy.from.to_string(),
        state: legacy.state.as_ref().map(|state| state.to_vec()),
        generation: legacy.generation,
        lost: legacy.lost,
    }
}

// === wire to core ===

impl TryFrom<v1::HandoverState> for HandoverState {
    type Error = NotUnderstood;

    fn try_from(state: v1::HandoverState) -> Result<Self, NotUnderstood> {
        let suspects = state.suspects.into_iter().map(|it| {
            let hosts: Vec<Arc<str>> = it.hosts.into_iter().map(Into::into).collect();
            (it.shard_key.into(), hosts)
        });
        Ok(Self {
            generation: state.generation,
            executors: state.executors.into_iter().map(executor).collect::<Result<_, _>>()?,
            shards: state.shards.into_iter().map(shard).collect::<Result<_, _>>()?,
            suspects: suspects.collect(),
            mass_failure_for: state.mass_failure_for.map(span),
            overlap_for: state.overlap_for.map(span),
            reset_after: state.reset_after,
        })
    }
}

fn executor(executor: v1::HandedExecutor) -> Result<ExecutorState, NotUnderstood> {
    let link = match executor.link() {
        v1::handed_executor::Link::Unheard => LinkState::Unheard,
        v1::handed_executor::Link::Session => LinkState::Session,
        v1::handed_executor::Link::Unary => LinkState::Unary,
        v1::handed_executor::Link::Unspecified => {
            return Err(NotUnderstood::Link(executor.executor_id));
        }
    };
    Ok(ExecutorState {
        id: executor.executor_id.into(),
        host: executor.host.into(),
        metadata: executor.metadata.into_iter().collect(),
        link,
        attempt: executor.attempt,
        told_lease: span(executor.told_lease),
        promised_for: span(executor.promised_for),
        heard_ago: span(executor.heard_ago),
        held_for: executor.held_for.map(span),
        open_since: executor.open_since.map(span),
        version_since: executor.version_since.map(span),
        away_for: executor.away_for.map(span),
        leaving: executor.leaving,
        prepares: executor.prepares,
        wire_status: executor.wire_status,
    })
}

fn shard(shard: v1::HandedShard) -> Result<ShardState, NotUnderstood> {
    let phase = match shard.phase {
        Some(phase) => phase_of(phase)?,
        None => return Err(NotUnderstood::Phase(shard.shard_key)),
    };
    let failure = |it: Failure| FailureState {
        count: it.count,
        retry_in: span(it.retry_in),
        error: it.error,
    };
    let legacy = |it: Legacy| LegacyState {
        from: it.from.into(),
        state: it.state.map(Into::into),
        generation: it.generation,
        lost: it.lost,
    };
    Ok(ShardState {
        key: shard.shard_key.into(),
        generation: shard.generation,
        owner: shard.owner,
        phase,
        since: span(shard.since),
        moved: shard.moved.map(span),
        load: shard.load,
        move_cost: shard.move_cost,
        reported_running: shard.reported_running,
        inherited: shard.inherited,
        failure: shard.failure.map(failure),
        legacy: shard.legacy.map(legacy),
    })
}

fn phase_of(phase: Phase) -> Result<PhaseState, NotUnderstood> {
    Ok(match phase {
        Phase::Unowned(Unowned {}) => PhaseState::Unowned,
        Phase::Granting(Granting {}) => PhaseState::Granting,
        Phase::Owned(Owned { told }) => PhaseState::Owned { told },
        Phase::Preparing(Preparing { to, reason, left }) => {
            PhaseState::Preparing { to, reason: move_reason(&reason)?, left: span(left) }
        }
        Phase::Revoking(Revoking { to, r#move, release, reason, told }) => {
            let next = match to {
                Some(to) => NextState::To(to, move_reason(&r#move)?),
                None if release => NextState::Release,
                None => NextState::Anyone,
            };
            PhaseState::Revoking { next, reason: revoke_reason(&reason)?, told }
        }
    })
}

fn revoke_reason(word: &str) -> Result<RevokeReason, NotUnderstood> {
    RevokeReason::parse(word).ok_or_else(|| NotUnderstood::Reason(word.to_owned()))
}

fn move_reason(word: &str) -> Result<MoveReason, NotUnderstood> {
    match revoke_reason(word)? {
        RevokeReason::Move(reason) => Ok(reason),
        _ => Err(NotUnderstood::Reason(word.to_owned())),
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

fn span(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn executor(id: &str, link: LinkState) -> ExecutorState {
        ExecutorState {
            id: id.into(),
            host: "h".into(),
            metadata: BTreeMap::from([("zone".to_owned(), "1".to_owned())]),
            link,
            attempt: 7,
            told_lease: 10 * SECOND,
            promised_for: SECOND,
            heard_ago: 2 * SECOND,
            held_for: Some(SECOND),
            open_since: None,
            version_since: Some(9 * SECOND),
            away_for: Some(Duration::ZERO),
            leaving: true,
            prepares: true,
            wire_status: 2,
        }
    }

    fn shard(key: &str, phase: PhaseState) -> ShardState {
        ShardState {
            key: key.into(),
            generation: 9,
            owner: Some(0),
            phase,
            since: SECOND,
            moved: Some(3 * SECOND),
            load: Some(0.0),
            move_cost: None,
            reported_running: true,
            inherited: true,
            failure: Some(FailureState { count: 2, retry_in: SECOND, error: "no".to_owned() }),
            legacy: Some(LegacyState {
                from: "a".into(),
                state: Some(vec![7; 3].into()),
                generation: None,
                lost: 0,
            }),
        }
    }

    fn phases() -> Vec<PhaseState> {
        let mut phases = vec![
            PhaseState::Unowned,
            PhaseState::Granting,
            PhaseState::Owned { told: true },
            PhaseState::Preparing { to: 0, reason: MoveReason::Balance, left: SECOND },
        ];
        let nexts = [NextState::To(0, MoveReason::Ring), NextState::Anyone, NextState::Release];
        for (next, reason) in nexts.into_iter().cycle().zip(RevokeReason::ALL) {
            phases.push(PhaseState::Revoking { next, reason, told: false });
        }
        phases
    }

    #[test]
    fn a_state_survives_the_wire() {
        let links = [LinkState::Unheard, LinkState::Session, LinkState::Unary];
        let state = HandoverState {
            generation: 11,
            executors: links.into_iter().map(|link| executor("a", link)).collect(),
            shards: phases().into_iter().map(|phase| shard("1", phase)).collect(),
            suspects: vec![("1".into(), vec!["h".into()])],
            mass_failure_for: Some(SECOND),
            overlap_for: Some(2 * SECOND),
            reset_after: true,
        };
        assert_eq!(HandoverState::try_from(v1::HandoverState::from(&state)), Ok(state));
    }

    #[test]
    fn what_a_later_version_says_is_refused_by_name() {
        let mut state = v1::HandoverState::default();
        state.shards.push(v1::HandedShard { shard_key: "7".to_owned(), ..Default::default() });
        let refused = HandoverState::try_from(state);
        assert_eq!(refused, Err(NotUnderstood::Phase("7".to_owned())));
    }
}
