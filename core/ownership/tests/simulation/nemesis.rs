//! What goes wrong on purpose, and how it is put right in the end.

use std::time::Duration;

use plimsoll_placement::time::Time;

use crate::network::Cut;
use crate::operator::Drained;
use crate::world::{Happening, World};

impl World {
    pub(crate) fn strike(&mut self) {
        if !self.trouble {
            return;
        }
        let process = self.chance.index(self.processes.len());
        match self.chance.below(100) {
            0..8 => self.stop_process(process),
            8..16 => self.crash_process(process),
            16..22 => self.cut_process(process),
            22..32 => self.break_its_stream(process),
            32..37 => self.dismiss(process),
            37..41 => self.stand_still(),
            41..46 => self.crash_server(),
            46..48 => self.hand_over(),
            48..64 => self.trouble_a_gopher(),
            64..90 => self.order_something(),
            _ => {}
        }
        if !self.traits.durable && !self.server.is_up() {
            self.forget_drains();
        }
        let wait = self.chance.millis(20, 1_500);
        self.after(wait, Happening::Nemesis);
    }

    fn draw_pause(&mut self) -> Duration {
        match self.chance.below(3) {
            0 => self.chance.millis(50, 1_000),
            1 => self.chance.millis(1_000, 3_000),
            _ => self.chance.millis(3_000, 12_000),
        }
    }

    /// SIGSTOP; SIGCONT later.
    fn stop_process(&mut self, number: usize) {
        let pause = self.draw_pause();
        if self.processes[number].still_until > self.now {
            return;
        }
        self.tell(|| format!("process {number} stands still for {pause:?}"));
        self.processes[number].still_until = self.now + pause;
    }

    fn cut_process(&mut self, number: usize) {
        let cut = self.draw_cut();
        self.tell(|| format!("process {number} is cut off: {cut:?}"));
        self.processes[number].cut = cut;
    }

    fn draw_cut(&mut self) -> Cut {
        let until = self.now + self.draw_pause();
        match self.chance.below(3) {
            0 => Cut { up: until, down: Time::ZERO },
            1 => Cut { up: Time::ZERO, down: until },
            _ => Cut { up: until, down: until },
        }
    }

    fn break_its_stream(&mut self, number: usize) {
        if let Some(stream) = self.processes[number].stream {
            self.break_stream(stream);
        }
    }

    /// It is told to go: by leaving, or by a goodbye.
    fn dismiss(&mut self, number: usize) {
        if self.processes[number].still_until > self.now {
            return;
        }
        self.tell(|| format!("process {number} is told to go"));
        self.processes[number].leaving = true;
        if self.chance.percent(30) {
            self.with_holder(number, |holder, now| holder.leave(now));
        } else {
            self.with_holder(number, |holder, now| holder.goodbye(now));
        }
    }

    fn stand_still(&mut self) {
        let pause = self.draw_pause();
        if self.server.still_until > self.now {
            return;
        }
        self.tell(|| format!("the server stands still for {pause:?}"));
        self.server.still_until = self.now + pause;
    }

    fn trouble_a_gopher(&mut self) {
        if self.gophers.is_empty() {
            return;
        }
        let number = self.chance.index(self.gophers.len());
        match self.chance.below(4) {
            0 if self.gophers[number].still_until > self.now => {}
            0 => {
                let pause = self.draw_pause();
                self.tell(|| format!("gopher {number} stands still for {pause:?}"));
                self.gophers[number].still_until = self.now + pause;
            }
            1 => {
                let cut = self.draw_cut();
                self.tell(|| format!("gopher {number} is cut off: {cut:?}"));
                self.gophers[number].cut = cut;
            }
            2 => self.crash_gopher(number),
            _ => self.stop_gopher(number),
        }
    }

    /// Nothing new goes wrong, whatever is dead starts, every message arrives, and
    /// at least one host may carry.
    pub(crate) fn end_trouble(&mut self) {
        self.tell(|| "the trouble is over".to_owned());
        self.trouble = false;
        self.start_server();
        for number in 0..self.processes.len() {
            self.processes[number].cut = Cut::default();
            if self.processes[number].leaving {
                self.crash_process(number);
            }
        }
        for number in 0..self.gophers.len() {
            self.gophers[number].cut = Cut::default();
        }
        self.open_a_host();
    }

    pub(crate) fn open_a_host(&mut self) {
        let hosts = self.traits.hosts.clone();
        let Some(namespace) = &self.server.namespace else { return };
        let carries = |world: &Self| {
            let drained = namespace.drained_hosts();
            world.processes.iter().any(|process| !drained.contains_key(&process.host))
        };
        if !carries(self) {
            self.order_host(hosts[0].clone(), Drained::No);
        }
    }
}
