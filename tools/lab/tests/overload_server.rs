//! The server process of the overload experiments, as they start it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};

fn start(shedder: &str) -> (Child, u16) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(["overload-server", "--shedder", shedder, "--work", "bare", "--capacity", "100"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{error}"));
    let mut line = String::new();
    let read = process.stdout.take().map(|output| BufReader::new(output).read_line(&mut line));
    let port = line.trim().parse();
    (process, port.unwrap_or_else(|error| panic!("{error}: {line:?} {read:?}")))
}

fn get(port: u16, path: &str) -> std::io::Result<String> {
    let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    write!(socket, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn it_serves_behind_ours_and_behind_a_peer_until_its_input_ends() {
    for shedder in ["plimsoll", "tower", "none"] {
        let (mut process, port) = start(shedder);
        for path in ["/apply", "/healthz"] {
            let answer = get(port, path).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("done"), "{answer}");
        }
        drop(process.stdin.take());
        assert!(process.wait().unwrap().success(), "{shedder}");
    }
}

#[test]
fn an_unknown_shedder_or_experiment_is_refused_with_the_known_ones() {
    for (arguments, known) in [
        (["overload", "nothing", "--quick"].as_slice(), "degradation, criticality"),
        (["overload", "sweep", "--shedder", "nobody"].as_slice(), "plimsoll-fixed"),
    ] {
        let run = Command::new(env!("CARGO_BIN_EXE_lab")).args(arguments).output().unwrap();
        let message = String::from_utf8_lossy(&run.stderr);
        assert!(!run.status.success() && message.contains(known), "{message}");
    }
}
