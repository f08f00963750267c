//! Pages that are open while things happen.

use plimsoll_testkit::browser::{Page, Screen};
use plimsoll_wire::v1;

use crate::common::{Scene, says};

/// Marks the page as it is: a reload would lose it.
async fn mark(page: &Page) {
    page.eval("window.marked = true").await.unwrap();
}

async fn is_marked(page: &Page) -> bool {
    page.eval("window.marked === true").await.unwrap() == true
}

async fn drain(scene: &Scene, shard: &str) {
    let request = v1::DrainShardsRequest {
        namespace: "orders".to_owned(),
        shard_keys: vec![shard.to_owned()],
        reason: "tried <i>twice</i>".to_owned(),
        drained_by: "bob".to_owned(),
    };
    scene.cluster.admin().drain_shards(request).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_is_seen_without_a_reload() {
    let scene = Scene::start().await;
    let page = scene.open(Screen::WIDE, "/namespaces/orders").await;
    says(&page, "No host and no shard is drained.").await;
    mark(&page).await;
    page.eval("document.querySelector('#find').value = 'half typed'").await.unwrap();
    drain(&scene, "5").await;
    says(&page, "by bob: tried <i>twice</i>").await;
    assert!(is_marked(&page).await);
    let typed = page.eval("document.querySelector('#find').value").await.unwrap();
    assert_eq!(typed, "half typed", "an update takes nothing from whoever types");
    page.until("the chart is drawn", "!!document.querySelector('#balance-plot canvas')").await;
    assert_eq!(page.complaints(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_stream_is_not_to_be_had_the_page_asks() {
    let scene = Scene::start().await;
    let page = scene.browser.open(Screen::WIDE).await.unwrap();
    page.block("*live=stream*").await.unwrap();
    page.go(&scene.at("/namespaces/orders")).await.unwrap();
    says(&page, "No host and no shard is drained.").await;
    mark(&page).await;
    drain(&scene, "5").await;
    says(&page, "by bob").await;
    assert!(is_marked(&page).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_outlives_a_restart_of_its_server() {
    let mut scene = Scene::start().await;
    let page = scene.open(Screen::WIDE, "/namespaces/orders").await;
    says(&page, "Live").await;
    mark(&page).await;
    scene.cluster.stop().await;
    says(&page, "No contact with the server: what you see is of").await;
    page.until(
        "the age counts on",
        "/\\d+ s ago/.test(document.querySelector('.contact').innerText)",
    )
    .await;
    let text = page.text().await.unwrap();
    assert!(text.contains("host-5") && text.contains("max/mean"), "the last figures stay: {text}");
    scene.cluster.resume().await;
    says(&page, "Live").await;
    drain(&scene, "9").await;
    says(&page, "by bob").await;
    assert!(is_marked(&page).await);
}
