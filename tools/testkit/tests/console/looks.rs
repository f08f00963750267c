//! Every page on every screen: whole, without complaints, within its width, and without
//! barriers.

use plimsoll_testkit::browser::Screen;
use plimsoll_testkit::http_get;

use crate::common::{Scene, says};

/// Pages and what each says.
const PAGES: [(&str, &str); 9] = [
    ("/", "orders"),
    ("/namespaces/orders", "host-<b>6"),
    ("/namespaces/orders/plan", "The next cycle of orders"),
    ("/namespaces/orders/events", "granted"),
    ("/namespaces/orders/settings", "load_balancing_mode"),
    ("/namespaces/orders/shards/7", "Why it is here"),
    ("/namespaces/orders/order?do=drain-host&target=host-1", "Every shard of the host moves"),
    ("/walk-through?right=adaptive&step=2", "Step 3 of"),
    ("/walk-through?source=zipf-0.8&left=adaptive", "Zipf"),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_whole_on_every_screen() {
    let scene = Scene::start().await;
    let tablet = Screen { width: 1010, ..Screen::WIDE };
    let day = [Screen::WIDE, Screen::NARROW, tablet];
    for screen in day.into_iter().chain([Screen::WIDE.dark(), Screen::NARROW.dark()]) {
        for (path, text) in PAGES {
            let page = scene.open(screen, path).await;
            says(&page, text).await;
            let barriers = page.barriers().await.unwrap();
            assert!(barriers.is_empty(), "{path} on {screen:?}: {barriers:#?}");
            let overhang = page.overhang().await.unwrap();
            assert!(overhang <= 0, "{path} is {overhang} pixels wider than {screen:?}");
            let complaints = page.complaints();
            assert!(complaints.is_empty(), "{path} on {screen:?}: {complaints:#?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_says_so() {
    let scene = Scene::start().await;
    let page = scene.open(Screen::WIDE, "/namespaces/nobody").await;
    says(&page, "Not found").await;
    page.go(&scene.at("/namespaces/orders/shards/nobody")).await.unwrap();
    says(&page, "Not found").await;
    page.go(&scene.at("/walk-through?source=gone")).await.unwrap();
    says(&page, "upload it again").await;
    page.go(&scene.at("/no/such/page")).await.unwrap();
    says(&page, "There is no page /no/such/page.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_get_text_and_the_pages_are_for_browsers_only() {
    let scene = Scene::start().await;
    let index = http_get(scene.cluster.http(), "/").await.unwrap();
    assert!(index.starts_with("plimsoll\n") && index.contains("/metrics"), "{index}");
    assert_eq!(http_get(scene.cluster.http(), "/healthz").await.unwrap(), "ok\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_reads_and_leads_on_by_keyboard() {
    let scene = Scene::start().await;
    let page = scene.open(Screen::WIDE, "/").await;
    page.press("Tab").await.unwrap();
    page.until(
        "the way past the header comes first",
        "document.activeElement.className === 'skip'",
    )
    .await;
    for _ in 0..20 {
        page.press("Tab").await.unwrap();
        let at = page.eval("document.activeElement.textContent").await.unwrap();
        if at == "orders" {
            page.press("Enter").await.unwrap();
            return says(&page, "Hottest shards").await;
        }
    }
    panic!("the namespace cannot be reached by Tab");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_read_and_orders_are_given_without_scripts() {
    let scene = Scene::start().await;
    let page = scene.open(Screen::NARROW, "/").await;
    page.allow_scripts(false).await.unwrap();
    page.go(&scene.at("/namespaces/orders/shards/7")).await.unwrap();
    says(&page, "Reload to see what has changed").await;
    page.click("a[href*='do=drain-shard']").await.unwrap();
    says(&page, "The shard stops and runs nowhere").await;
    page.fill("#who", "ana").await.unwrap();
    page.fill("#why", "kills its hosts").await.unwrap();
    page.click("button.primary").await.unwrap();
    says(&page, "Shard 7 is drained").await;
    let drains = scene.cluster.drains("orders").await.unwrap().shards;
    assert_eq!((drains[0].name.as_str(), drains[0].reason.as_str()), ("7", "kills its hosts"));
    page.go(&scene.at("/walk-through")).await.unwrap();
    page.click("#step-next").await.unwrap();
    says(&page, "Step 2 of").await;
}
