//! Streams: in order within one, in any order across two; late, lost, cut.

use std::time::Duration;

use plimsoll_ownership::action::Tell;
use plimsoll_ownership::ids::SessionId;
use plimsoll_placement::time::Time;

use crate::world::{Happening, Said, World};

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct StreamId(usize);

#[derive(Debug, Default)]
pub(crate) struct Network {
    streams: Vec<Stream>,
}

/// One stream from its dialling to its end.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) process: usize,
    pub(crate) life: u32,
    /// The number of the term at its other end.
    pub(crate) server: u32,
    pub(crate) session: Option<SessionId>,
    /// Nothing that is on its way up arrives any more.
    up_lost: bool,
    up_until: Time,
    down_until: Time,
    /// The server has ended it or seen its end.
    pub(crate) over: bool,
}

/// Where a machine cannot be reached, and until when.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cut {
    pub(crate) up: Time,
    pub(crate) down: Time,
}

impl Network {
    pub(crate) fn open(&mut self, process: usize, life: u32, server: u32, now: Time) -> StreamId {
        self.streams.push(Stream {
            process,
            life,
            server,
            session: None,
            up_lost: false,
            up_until: now,
            down_until: now,
            over: false,
        });
        StreamId(self.streams.len() - 1)
    }

    pub(crate) fn process_of(&self, stream: StreamId) -> usize {
        self.streams[stream.0].process
    }

    pub(crate) fn server_of(&self, stream: StreamId) -> u32 {
        self.streams[stream.0].server
    }

    pub(crate) fn get(&mut self, stream: StreamId) -> &mut Stream {
        &mut self.streams[stream.0]
    }

    /// Streams that the term of that number has not ended.
    pub(crate) fn live(&self, server: u32) -> Vec<StreamId> {
        let live = self.streams.iter().enumerate().filter(|(_, s)| s.server == server && !s.over);
        live.map(|(number, _)| StreamId(number)).collect()
    }
}

impl World {
    /// How long a message is on its way.
    pub(crate) fn delay(&mut self) -> Duration {
        match self.chance.below(1_000) {
            0..5 if self.is_wild() => self.chance.millis(200, 3_000),
            5..50 if self.is_wild() => self.chance.millis(5, 200),
            _ => self.chance.micros(50, 3_000),
        }
    }

    pub(crate) fn send_up(&mut self, stream: StreamId, said: Said) {
        let at = self.arrival_up(stream);
        self.at(at, Happening::Said { stream, said });
    }

    pub(crate) fn send_down(&mut self, stream: StreamId, told: Tell) {
        let at = self.arrival_down(stream);
        self.at(at, Happening::Told { stream, told });
    }

    /// The executor's end is closed; what it said before may yet arrive.
    pub(crate) fn hang_up(&mut self, stream: StreamId) {
        let lost = self.chance.percent(40);
        let at = self.arrival_up(stream);
        self.network.get(stream).up_lost |= lost;
        self.at(at, Happening::EndSeenByServer { stream });
    }

    /// The server's end is closed.
    pub(crate) fn close_down(&mut self, stream: StreamId) {
        self.network.get(stream).over = true;
        let at = self.arrival_down(stream);
        self.at(at, Happening::EndSeenByProcess { stream });
    }

    /// A broken stream: both sides learn of it, sooner or later.
    pub(crate) fn break_stream(&mut self, stream: StreamId) {
        self.tell(|| format!("stream {stream:?} breaks"));
        self.hang_up(stream);
        let at = self.arrival_down(stream);
        self.at(at, Happening::EndSeenByProcess { stream });
    }

    /// The machine to whose ears this still comes.
    pub(crate) fn who_hears(&mut self, stream: StreamId) -> Option<usize> {
        let stream = self.network.get(stream);
        let open = !stream.up_lost && !stream.over;
        let server = stream.server;
        self.machine_of(server).filter(|number| open && self.is_in_force(*number))
    }

    fn arrival_up(&mut self, stream: StreamId) -> Time {
        let delay = self.delay();
        let process = self.network.process_of(stream);
        let cut = self.processes[process].cut.up;
        let now = self.now;
        let stream = self.network.get(stream);
        stream.up_until = stream.up_until.max(now.max(cut) + delay) + Duration::from_nanos(1);
        stream.up_until
    }

    fn arrival_down(&mut self, stream: StreamId) -> Time {
        let delay = self.delay();
        let process = self.network.process_of(stream);
        let cut = self.processes[process].cut.down;
        let now = self.now;
        let stream = self.network.get(stream);
        stream.down_until = stream.down_until.max(now.max(cut) + delay) + Duration::from_nanos(1);
        stream.down_until
    }
}
