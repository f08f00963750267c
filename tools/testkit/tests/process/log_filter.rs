//! What a server logs, changed while it runs.

use plimsoll_testkit::process::run;
use plimsoll_testkit::{Fixture, http_get};

use crate::scene::Files;

#[tokio::test]
async fn the_log_filter_of_a_running_server_is_read_and_changed() {
    let server = Files::new("memory", &[Fixture::fixed("orders", 4)]).start().await;
    let http = server.http.to_string();
    let said = run(&["log-filter", "--http", &http]).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "info\n", "{said:?}");
    let filter = "info,plimsoll_server=debug";
    let said = run(&["log-filter", filter, "--http", &http]).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "plimsoll_server=debug,info\n", "{said:?}");
    // What cannot be read changes nothing.
    let said = run(&["log-filter", "plimsoll_server=chatty", "--http", &http]).await.unwrap();
    assert_eq!(said.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&said.stderr).contains("plimsoll_server=chatty"), "{said:?}");
    let stands = http_get(server.http, "/api/v1/log-filter").await.unwrap();
    assert_eq!(stands, "plimsoll_server=debug,info\n");
}
