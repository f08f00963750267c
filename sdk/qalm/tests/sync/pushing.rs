//! What is pushed holds; what makes no sense does not.

use plimsoll_qalm::policy_server::Origin;
use plimsoll_qalm::{PolicyServer, PolicyServerError, QalmLayer};
use plimsoll_wire::v1::PolicyRevision;
use plimsoll_wire::v1::sync_response::Message as Told;

use crate::harness::*;

fn of(server: &Server) -> PolicyServer {
    PolicyServer::new(&server.url(), SERVICE).instance("one").version("1.4.2")
}

#[tokio::test]
async fn an_instance_says_who_it_is_and_what_is_pushed_holds() {
    let server = Server::start().await;
    server.greet_with(vec![no_policy()]);
    let service = Service::new(of(&server));
    let hello = server.hello().await;
    assert_eq!((&*hello.service, &*hello.instance, &*hello.version), (SERVICE, "one", "1.4.2"));
    assert_eq!((hello.revision, service.level().await.as_str()), (0, "3"));
    for revision in [1, 2, 7] {
        server.push(revision, &level(4 - (revision % 3) as u8));
        assert_eq!(server.applied(revision).await.refused, "");
        let expected = (4 - revision % 3).to_string();
        assert_eq!(service.level().await, expected, "it holds when it is said to");
    }
    let status = service.status();
    assert_eq!((status.origin, status.revision), (Origin::Server, 7));
    assert_eq!((status.loads, status.errors, status.server), (4, 0, Some(server.url())));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_its_line_and_changes_nothing() {
    let server = Server::start().await;
    server.push(1, &level(2));
    let service = Service::new(of(&server));
    server.applied(1).await;
    for (revision, text, why) in [
        (
            2,
            "\n[[rules]]\ncaller = \"a\"\ncritcality = 2\n",
            "menu@2:4: there is no \"critcality\"",
        ),
        (3, "  \n", "menu@3: it has been emptied"),
        (4, "default_criticality = 9\n", "menu@4:1"),
    ] {
        server.push(revision, text);
        let refused = server.applied(revision).await.refused;
        assert!(refused.contains(why), "{refused}");
        assert_eq!((service.level().await.as_str(), service.status().revision), ("2", 1));
    }
    let status = service.status();
    assert_eq!((status.errors, status.refused.unwrap().revision), (3, 4));
    server.push(5, &level(4));
    server.applied(5).await;
    assert!(service.status().refused.is_none());
    assert_eq!(service.level().await, "4");
}

#[tokio::test]
async fn another_services_policy_is_refused() {
    let server = Server::start().await;
    let service = Service::new(of(&server));
    server.hello().await;
    let text = level(4);
    let strange =
        PolicyRevision { service: "x".to_owned(), revision: 9, text, ..Default::default() };
    service.until(|it| it.server.is_some()).await;
    server.tell(&Told::Policy(strange));
    assert!(server.applied(9).await.refused.contains("service \"x\""));
    assert_eq!(service.level().await, "3");
}

#[tokio::test]
async fn a_store_that_was_made_anew_counts_from_one_again() {
    let server = Server::start().await;
    server.push(41, &level(2));
    let service = Service::new(of(&server));
    server.applied(41).await;
    server.push(1, &level(4));
    server.applied(1).await;
    assert_eq!((service.level().await.as_str(), service.status().revision), ("4", 1));
}

#[test]
fn addresses_and_names_are_checked_before_anything_starts() {
    let build = |servers, service: &str| {
        QalmLayer::builder().build_from_server(PolicyServer::new(servers, service)).unwrap_err()
    };
    assert_eq!(build(" , ", "menu"), PolicyServerError::NoServer);
    assert_eq!(build("http://127.0.0.1:1", " "), PolicyServerError::NoService);
    assert!(matches!(build("https://127.0.0.1:1", "menu"), PolicyServerError::NoTls { .. }));
    let file = PolicyServer::new("http://127.0.0.1:1", "menu").file("/nowhere/policy.toml");
    let error = QalmLayer::builder().build_from_server(file).unwrap_err();
    assert!(error.to_string().contains("/nowhere/policy.toml"), "{error}");
}
