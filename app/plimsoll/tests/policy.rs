//! `plimsoll policy` against a real server: what is got, edited and saved.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::PathBuf;
use std::process::{Command, Output};

use plimsoll_server::config::StoreKind;
use plimsoll_server::{Config, Server};
use serde_json::Value;
use tempfile::TempDir;

struct Place {
    server: Option<Server>,
    address: String,
    folder: TempDir,
}

impl Place {
    async fn new() -> Self {
        let mut config = Config { store: StoreKind::Memory, ..Config::default() };
        config.grpc.listen = "127.0.0.1:0".to_owned();
        config.http.listen = "127.0.0.1:0".to_owned();
        let server = Server::start(&config).await.unwrap();
        let (address, folder) = (server.grpc.to_string(), tempfile::tempdir().unwrap());
        Self { server: Some(server), address, folder }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    async fn run(&self, words: &str) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.arg("policy").args(words.split(' ')).current_dir(self.folder.path());
        command.env("PLIMSOLL_SERVER", &self.address);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        Ran(output.await.unwrap())
    }

    /// What a command that must pass prints.
    async fn prints(&self, words: &str) -> String {
        let ran = self.run(words).await;
        assert!(ran.0.status.success(), "{words}: {}", ran.said());
        String::from_utf8(ran.0.stdout).unwrap()
    }

    async fn json(&self, words: &str) -> Value {
        serde_json::from_str(&self.prints(&format!("{words} --json")).await).unwrap()
    }
}

struct Ran(Output);

impl Ran {
    fn code(&self) -> Option<i32> {
        self.0.status.code()
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }
}

const THREE: &str = "default_criticality = 3\n";
const FOUR: &str = "default_criticality = 4\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_is_got_edited_saved_and_brought_back() {
    let place = Place::new().await;
    place.file("menu.toml", THREE);
    let saved = place.prints("set menu menu.toml --comment first").await;
    assert_eq!(saved, "menu: revision 1 saved\n");
    let got = place.prints("get menu").await;
    assert_eq!(got, format!("# plimsoll policy: service \"menu\", revision 1\n{THREE}"));
    assert_eq!(place.prints("get menu --bare").await, THREE);
    place.file("menu.toml", &got.replace('3', "4"));
    assert_eq!(place.prints("set menu menu.toml").await, "menu: revision 2 saved\n");
    let file = place.read("menu.toml");
    assert_eq!(file, format!("# plimsoll policy: service \"menu\", revision 2\n{FOUR}"));
    let same = place.prints("set menu menu.toml").await;
    assert_eq!(same, "menu: revision 2 says the same: nothing to save\n");
    let back = place.prints("rollback menu 1 --comment oops --author bob").await;
    assert_eq!(back, "menu: revision 3 saved, with the text of 1\n");
    assert_eq!(place.prints("get menu --bare").await, THREE);
    let history = place.json("history menu").await;
    let told = history["revisions"].as_array().unwrap();
    let told: Vec<_> = told.iter().map(|it| (&it["revision"], &it["comment"])).collect();
    assert_eq!(
        told,
        [(&3.into(), &"oops".into()), (&2.into(), &"".into()), (&1.into(), &"first".into())]
    );
    assert_eq!(history["revisions"][0]["author"], "bob");
    assert_ne!(history["revisions"][1]["author"], "", "the user of this system");
    let history = place.prints("history menu --limit 1").await;
    assert!(history.lines().nth(1).unwrap().ends_with("  bob  (back to 1) oops"), "{history}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobodys_edit_is_lost() {
    let place = Place::new().await;
    place.file("menu.toml", THREE);
    place.prints("set menu menu.toml").await;
    let got = place.prints("get menu").await;
    place.file("mine.toml", &got.replace('3', "2"));
    place.file("theirs.toml", &got.replace('3', "4"));
    place.prints("set menu theirs.toml --author bob").await;
    let late = place.run("set menu mine.toml").await;
    assert_eq!(late.code(), Some(3), "{}", late.said());
    assert!(late.said().contains("bob has saved revision 2"), "{}", late.said());
    assert!(late.said().contains("plimsoll policy diff menu 1"), "{}", late.said());
    assert!(place.read("mine.toml").contains("revision 1"), "it is as it was");
    let by_hand = place.file("by-hand.toml", "default_criticality = 1\n");
    let blind = place.run("set menu by-hand.toml").await;
    assert_eq!(blind.code(), Some(1));
    assert!(blind.said().contains("say --expect 2"), "{}", blind.said());
    assert_eq!(place.run("set menu by-hand.toml --expect 1").await.code(), Some(3));
    place.prints("set menu by-hand.toml --expect 2").await;
    assert_eq!(std::fs::read_to_string(by_hand).unwrap(), "default_criticality = 1\n");
    place.prints("set menu theirs.toml --expect newest").await;
    let other = place.run("set other theirs.toml").await;
    assert!(other.said().contains("was got from service \"menu\""), "{}", other.said());
    assert_eq!(place.json("list").await["services"][0]["revision"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_different_is_shown() {
    let place = Place::new().await;
    place.file("menu.toml", THREE);
    place.prints("set menu menu.toml").await;
    place.file("menu.toml", FOUR);
    place.prints("set menu menu.toml --expect 1").await;
    let wanted = "--- menu revision 1\n+++ menu revision 2\n@@ -1 +1 @@\n\
                  -default_criticality = 3\n+default_criticality = 4\n";
    for words in ["diff menu", "diff menu 1", "diff menu 1 2"] {
        assert_eq!(place.prints(words).await, wanted, "{words}");
    }
    assert_eq!(place.prints("diff menu menu.toml").await, "");
    place.file("menu.toml", THREE);
    let draft = place.prints("diff menu menu.toml").await;
    assert!(draft.starts_with("--- menu revision 2\n+++ menu.toml\n"), "{draft}");
    assert_eq!(place.run("diff menu menu.toml --exit-code").await.code(), Some(1));
    assert_eq!(place.run("diff menu 2 2 --exit-code").await.code(), Some(0));
    let missing = place.run("diff menu 7").await;
    assert!(missing.said().contains("no revision 7"), "{}", missing.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_told_with_their_line_in_the_file() {
    let place = Place::new().await;
    place.file("broken.toml", "\n[[rules]]\ncaller = \"x\"\ncritcality = 2\n");
    let refused = place.run("set menu broken.toml").await;
    let said = refused.said();
    assert!(said.starts_with("plimsoll: broken.toml:4: there is no \"critcality\""), "{said}");
    let header = "# plimsoll policy: service \"menu\", revision 1\n";
    place.file("broken.toml", &format!("{header}critcality = 2\n"));
    let said = place.run("preview menu broken.toml").await.said();
    assert!(said.starts_with("plimsoll: broken.toml:2: "), "{said}");
    let missing = place.run("get nobody").await;
    assert!(missing.said().contains("there is no policy of \"nobody\""), "{}", missing.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn services_are_listed_and_an_edit_is_previewed() {
    let place = Place::new().await;
    place.file("menu.toml", THREE);
    place.prints("set menu menu.toml").await;
    let list = place.prints("list").await;
    let wanted = "SERVICE  REVISION  INSTANCES  UP TO DATE  REQUESTS/S  SHED  UNCLASSIFIED CALLERS\n\
                  menu     1         0          0           0.0         0.0%  0\n";
    assert_eq!(list, wanted);
    place.file("idle.toml", "[[rules]]\nendpoint = \"/healthz\"\ncriticality = 2\n");
    let preview = place.prints("preview menu idle.toml").await;
    assert!(preview.contains("never decides anything"), "{preview}");
    assert!(preview.contains("no instance has told what it sees"), "{preview}");
    assert_eq!(place.json("preview menu idle.toml").await["over_ms"], 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_is_named() {
    let mut place = Place::new().await;
    place.server.take().unwrap().stop().await;
    let said = place.run("list").await.said();
    assert!(said.contains(&format!("cannot reach a server at {}", place.address)), "{said}");
    assert!(said.contains("--server"), "{said}");
}
