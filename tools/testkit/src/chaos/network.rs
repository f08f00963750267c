//! A network that really loses packets: each process has a network namespace with an
//! address of its own, and one router joins them all, in which packets from one to
//! another are dropped, answered for as by a dead host, or let through drop by drop.
//!
//! What TCP makes of that is the kernel's affair: it sends again, ever more rarely, and
//! connections stay half open. Everything is in namespaces of the process that was
//! started by [`alone`], and goes with it; the machine's own network is left as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The router's address on every link.
const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 77, 255, 254);
/// Routing tables from here on lead to ghosts, by the last byte of the address.
const GHOSTS: u32 = 1000;
/// The place of our rules, before those of the kernel's own tables.
const PLACE: u32 = 1000;
/// What a thin link carries, and what may wait for it before packets are dropped.
const THIN: &str = "root tbf rate 512kbit burst 3200 limit 65536";

/// Everything that [`Network::build`] does, once and in small.
const ATTEMPT: &str = "set -e
mount -t tmpfs none /run
mkdir /run/netns
echo 1 > /proc/sys/net/ipv4/ip_forward
ip netns add attempt
ip link add v0 type veth peer name eth0 netns attempt
ip rule add from 10.0.0.1 to 10.0.0.2 pref 1000 blackhole
tc qdisc add dev v0 root tbf rate 512kbit burst 3200 limit 65536";

/// What becomes of packets from one host to another.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Fate {
    /// They are dropped, and nobody is told.
    Lost,
    /// They are answered as by a host where nobody listens: with a reset.
    Refused,
}

/// Packets from the first to the second, which are not let through.
pub type Fates = BTreeMap<(Ipv4Addr, Ipv4Addr), Fate>;

/// Hosts that are joined by a router, which is the namespace of this process.
#[derive(Debug)]
pub struct Network {
    /// By name.
    hosts: BTreeMap<String, Ipv4Addr>,
    /// Addresses that a ghost has too: a host where nobody listens, so that the kernel
    /// there answers every segment with a reset.
    ghosts: BTreeSet<Ipv4Addr>,
    fates: Fates,
    /// Names.
    thin: BTreeSet<String>,
}

/// A command whose arguments are a program to be run with a network and mounts of its
/// own. Where this process has no rights it becomes root in a namespace of users, if
/// the kernel lets everybody make one.
pub fn alone() -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--net", "--mount", "--propagation", "private", "--"]);
    command
}

/// Whether a network can be built here.
///
/// # Errors
/// It cannot: what the kernel, or a program that is missing, says.
pub fn attempt() -> Result<()> {
    let mut command = alone();
    let tried = command.args(["sh", "-c", ATTEMPT]).stdin(Stdio::null()).output();
    let tried = tried.context("unshare (util-linux) cannot be started")?;
    let said = String::from_utf8_lossy(&tried.stderr);
    ensure!(tried.status.success(), "{}", said.trim());
    Ok(())
}

impl Network {
    /// A host for each name and address. For a process that was started by [`alone`].
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn build(hosts: BTreeMap<String, Ipv4Addr>) -> Result<Self> {
        run("mount", &["-t", "tmpfs", "none", "/run"], "")?;
        std::fs::create_dir("/run/netns").context("cannot make a place for namespaces")?;
        for (name, value) in [("ip_forward", "1"), ("conf/all/rp_filter", "0")] {
            let path = format!("/proc/sys/net/ipv4/{name}");
            std::fs::write(&path, value).with_context(|| format!("cannot write {path}"))?;
        }
        run("ip", &["link", "set", "lo", "up"], "")?;
        for (name, address) in &hosts {
            join(name, *address)?;
        }
        let (ghosts, fates, thin) = (BTreeSet::new(), Fates::new(), BTreeSet::new());
        Ok(Self { hosts, ghosts, fates, thin })
    }

    /// What to put before a program so that it runs on this host.
    pub fn on(name: &str) -> Vec<String> {
        vec!["nsenter".to_owned(), format!("--net=/run/netns/{name}")]
    }

    /// From now on these packets are not let through, and all others are.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set(&mut self, fates: Fates) -> Result<()> {
        for ((_, to), _) in fates.iter().filter(|(_, fate)| **fate == Fate::Refused) {
            if self.ghosts.insert(*to) {
                raise_ghost(*to)?;
            }
        }
        let mut orders = String::new();
        let missing = |all: &Fates, pair, fate| all.get(pair) != Some(fate);
        // New ones first: no packet slips through between two fates.
        for (pair, fate) in fates.iter().filter(|(pair, fate)| missing(&self.fates, pair, fate)) {
            writeln!(orders, "rule add {}", rule(*pair, *fate))?;
        }
        for (pair, fate) in self.fates.iter().filter(|(pair, fate)| missing(&fates, pair, fate)) {
            writeln!(orders, "rule del {}", rule(*pair, *fate))?;
        }
        ip(&[], &orders)?;
        self.fates = fates;
        Ok(())
    }

    /// From now on what comes to these hosts comes at 512 kbit/s, and what comes to all
    /// others at once.
    ///
    /// # Errors
    /// The kernel refuses, or there is no such host.
    pub fn thin(&mut self, names: BTreeSet<String>) -> Result<()> {
        for name in names.difference(&self.thin) {
            ensure!(self.hosts.contains_key(name), "no host {name}");
            tc(&format!("qdisc add dev v-{name} {THIN}"))?;
        }
        for name in self.thin.difference(&names) {
            tc(&format!("qdisc del dev v-{name} root"))?;
        }
        self.thin = names;
        Ok(())
    }
}

fn rule((from, to): (Ipv4Addr, Ipv4Addr), fate: Fate) -> String {
    let fate = match fate {
        Fate::Lost => "blackhole".to_owned(),
        Fate::Refused => format!("lookup {}", table(to)),
    };
    format!("from {from} to {to} pref {PLACE} {fate}")
}

fn table(ghost: Ipv4Addr) -> u32 {
    GHOSTS + u32::from(ghost.octets()[3])
}

/// Behind the router too, by a table that only some packets are sent to.
fn raise_ghost(of: Ipv4Addr) -> Result<()> {
    let [a, b, _, last] = of.octets();
    let (name, its_own) = (format!("ghost-{last}"), Ipv4Addr::new(a, b, 254, last));
    join(&name, its_own)?;
    ip(&["-n", &name], &format!("addr add {of}/32 dev lo\n"))?;
    let table = table(of);
    ip(&[], &format!("route add default via {its_own} dev v-{name} onlink table {table}\n"))
}

/// A namespace with this address behind the router.
fn join(name: &str, address: Ipv4Addr) -> Result<()> {
    ip(
        &[],
        &format!(
            "netns add {name}\n\
             link add v-{name} type veth peer name eth0 netns {name}\n\
             addr add {ROUTER}/32 dev v-{name}\n\
             link set v-{name} up\n\
             route add {address}/32 dev v-{name} src {ROUTER}\n"
        ),
    )?;
    ip(
        &["-n", name],
        &format!(
            "link set lo up\n\
             addr add {address}/32 dev eth0\n\
             link set eth0 up\n\
             route add default via {ROUTER} dev eth0 onlink\n"
        ),
    )
}

fn ip(options: &[&str], orders: &str) -> Result<()> {
    run("ip", &[options, &["-batch", "-"]].concat(), orders)
}

fn tc(order: &str) -> Result<()> {
    run("tc", &order.split(' ').collect::<Vec<_>>(), "")
}

/// Runs a program to its end, with something to read.
pub(super) fn run(program: &str, arguments: &[&str], orders: &str) -> Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {program}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that ends early says why.
        let _ = stdin.write_all(orders.as_bytes());
    }
    let ended = child.wait_with_output()?;
    let (said, all) = (String::from_utf8_lossy(&ended.stderr), arguments.join(" "));
    ensure!(ended.status.success(), "{program} {all}: {}\n{orders}", said.trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::process::Child;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::{Duration, Instant};

    use super::*;

    const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
    const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
    const SOON: Duration = Duration::from_secs(10);
    /// Longer than some packets that are sent again.
    const A_WHILE: Duration = Duration::from_millis(700);

    /// Another instance of this binary, which runs one of the helpers below.
    fn helper(mut command: Command, name: &str) -> Command {
        command.arg(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("chaos::network::tests::{name}"), "--ignored"]);
        command.args(["--nocapture", "--test-threads", "1"]);
        command
    }

    fn on(host: &str, name: &str) -> Helper {
        let prefix = Network::on(host);
        let mut command = Command::new(&prefix[0]);
        command.args(&prefix[1..]);
        Helper(helper(command, name).stdout(Stdio::piped()).spawn().unwrap())
    }

    /// A process that does not outlive a test that fails.
    struct Helper(Child);

    impl Drop for Helper {
        fn drop(&mut self) {
            // It may have ended.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn packets_are_lost_or_refused_in_one_direction_or_both_as_they_are_told() {
        if let Err(why) = attempt() {
            return eprintln!("not tested, since no network can be built here: {why}");
        }
        let ended = helper(alone(), "inside").output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success() && said.contains("1 passed"), "{said}");
    }

    /// What the client says, line by line.
    struct Heard {
        lines: Receiver<String>,
        _client: Helper,
    }

    impl Heard {
        fn start() -> Self {
            let mut client = on("client", "client");
            let (sender, lines) = channel();
            let stdout = BufReader::new(client.0.stdout.take().unwrap());
            std::thread::spawn(move || {
                stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
            });
            Self { lines, _client: client }
        }

        fn until(&self, what: &str) {
            while !self.lines.recv_timeout(SOON).unwrap().contains(what) {}
        }

        /// What was on its way has come, and nothing comes after it.
        fn nothing_more(&self) {
            while self.lines.try_recv().is_ok() {}
            // One that had been answered.
            let _ = self.lines.recv_timeout(Duration::from_millis(100));
            let end = Instant::now() + A_WHILE;
            while let Ok(line) = self.lines.recv_timeout(end - Instant::now()) {
                assert!(!line.contains("heard"), "{line}");
            }
        }
    }

    #[test]
    #[ignore = "started by another test, with a network of its own"]
    fn inside() {
        let hosts = [("client".to_owned(), CLIENT), ("server".to_owned(), SERVER)];
        let mut network = Network::build(BTreeMap::from(hosts)).unwrap();
        let server = on("server", "server");
        let client = Heard::start();
        client.until("heard");
        for pairs in
            [&[(CLIENT, SERVER)][..], &[(SERVER, CLIENT)], &[(CLIENT, SERVER), (SERVER, CLIENT)]]
        {
            network.set(pairs.iter().map(|pair| (*pair, Fate::Lost)).collect()).unwrap();
            client.nothing_more();
            network.set(Fates::new()).unwrap();
            // By the connection that was open.
            client.until("heard");
        }
        network.thin(BTreeSet::from(["server".to_owned()])).unwrap();
        client.until("heard");
        network.thin(BTreeSet::new()).unwrap();
        network.set(Fates::from([((CLIENT, SERVER), Fate::Refused)])).unwrap();
        client.until("broken");
        drop(client);
        let client = Heard::start();
        client.until("refused");
        network.set(Fates::from([((CLIENT, SERVER), Fate::Lost)])).unwrap();
        let client = Heard::start();
        client.nothing_more();
        network.set(Fates::new()).unwrap();
        client.until("heard");
        drop(server);
        client.until("broken");
    }

    #[test]
    #[ignore = "started by another test: answers"]
    fn server() {
        let listener = TcpListener::bind(SocketAddr::from((SERVER, 7000))).unwrap();
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            std::thread::spawn(move || {
                let mut byte = [0];
                while socket.read_exact(&mut byte).is_ok() && socket.write_all(&byte).is_ok() {}
            });
        }
    }

    #[test]
    #[ignore = "started by another test: asks, and says what it hears"]
    fn client() {
        let connect = || TcpStream::connect(SocketAddr::from((SERVER, 7000)));
        let mut connected = connect();
        // The server may not listen yet; where it never does, that is said.
        for _ in 0..20 {
            if connected.is_err() {
                std::thread::sleep(Duration::from_millis(50));
                connected = connect();
            }
        }
        let Ok(mut socket) = connected else { return println!("refused") };
        let mut byte = [7];
        while socket.write_all(&byte).is_ok() && socket.read_exact(&mut byte).is_ok() {
            println!("heard");
            std::thread::sleep(Duration::from_millis(20));
        }
        println!("broken");
    }
}
