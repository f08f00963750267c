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
        if !self.traits.calm && self.machines.iter().any(|it| self.now < it.refuses_until) {
            return self.mislead(process);
        }
        let what =
            if self.traits.calm { self.chance.below(13) + 37 } else { self.chance.below(113) };
        match what {
            0..8 => self.stop_process(process),
            8..16 => self.crash_process(process),
            16..22 => self.cut_process(process),
            22..32 => self.break_its_stream(process),
            32..37 => self.dismiss(process),
            37..39 => self.stand_still(),
            39..41 => self.cut_from_store(),
            41..44 => self.crash_a_machine(),
            44..46 => self.retire_a_machine(),
            46..48 => self.stall_store(),
            48..50 => self.turn_servers_away(),
            50..64 => self.trouble_a_gopher(),
            64..90 => self.order_something(),
            // Once more those that only several servers know.
            100..103 => self.retire_a_machine(),
            103..105 => self.stand_still(),
            105..107 => self.cut_from_store(),
            107..113 => self.turn_servers_away(),
            _ => {}
        }
        // A leader must have the time to lead.
        let wait = match self.traits.calm {
            true => self.chance.millis(500, 6_000),
            false => self.chance.millis(20, 1_500),
        };
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
        match self.chance.below(10) {
            0..3 => self.with_holder(number, |holder, now| holder.leave(now)),
            3..6 => self.restart_process(number),
            _ => self.with_holder(number, |holder, now| holder.goodbye(now)),
        }
    }

    fn stand_still(&mut self) {
        let (number, pause) = (self.draw_machine(), self.draw_pause());
        if self.machines[number].still_until > self.now {
            return;
        }
        self.tell(|| format!("machine {number} stands still for {pause:?}"));
        self.machines[number].still_until = self.now + pause;
    }

    /// The leader's, more often than not.
    fn draw_machine(&mut self) -> usize {
        let any = self.chance.index(self.machines.len());
        match self.chance.percent(60) {
            true => self.acting().unwrap_or(any),
            false => any,
        }
    }

    fn cut_from_store(&mut self) {
        let (number, pause) = (self.draw_machine(), self.draw_pause());
        if !self.traits.durable {
            return;
        }
        self.tell(|| format!("machine {number} is cut off from the store for {pause:?}"));
        self.machines[number].cut_until = self.now + pause;
    }

    /// A firewall that rejects what other servers send. In half of the cases the store
    /// is out of reach, too: then it learns late that it was replaced.
    fn turn_servers_away(&mut self) {
        let (number, pause) = (self.draw_machine(), self.chance.millis(500, 4_000));
        let cut = self.chance.percent(50);
        if !self.traits.durable {
            return;
        }
        self.tell(|| format!("machine {number} refuses connections for {pause:?}"));
        self.machines[number].refuses_until = self.now + pause;
        if cut {
            self.machines[number].cut_until = self.now + pause;
        }
    }

    /// While there may be a leader that was replaced and does not know it: executors
    /// go from one server to the next, and shards from one executor to the next.
    fn mislead(&mut self, process: usize) {
        match self.chance.below(20) {
            0..9 => self.break_its_stream(process),
            9..12 => self.send_a_gopher_elsewhere(),
            12 => self.crash_process(process),
            13 => self.dismiss(process),
            _ => self.order_something(),
        }
        let wait = self.chance.millis(10, 120);
        self.after(wait, Happening::Nemesis);
    }

    /// As a proxy does that balances each call.
    fn send_a_gopher_elsewhere(&mut self) {
        let gophers = self.gophers.len();
        if gophers > 0 {
            let number = self.chance.index(gophers);
            self.gophers[number].goes_elsewhere();
        }
    }

    fn stall_store(&mut self) {
        let pause = self.draw_pause();
        if !self.traits.durable {
            return;
        }
        self.tell(|| format!("the store stands still for {pause:?}"));
        self.store_stalls_until = self.now + pause;
    }

    fn crash_a_machine(&mut self) {
        let number = self.draw_machine();
        self.crash_machine(number);
    }

    fn retire_a_machine(&mut self) {
        let number = self.draw_machine();
        self.retire_machine(number);
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
        self.store_stalls_until = self.now;
        for number in 0..self.machines.len() {
            self.machines[number].cut_until = self.now;
            self.machines[number].refuses_until = self.now;
            self.start_machine(number);
        }
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
        let Some(namespace) = self.namespace() else { return };
        let carries = |world: &Self| {
            let drained = namespace.drained_hosts();
            world.processes.iter().any(|process| !drained.contains_key(&process.host))
        };
        if !carries(self) {
            self.order_host(hosts[0].clone(), Drained::No);
        }
    }
}
