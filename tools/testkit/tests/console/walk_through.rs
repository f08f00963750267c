//! The walk-through, as people step through it.

use plimsoll_testkit::browser::Screen;

use crate::common::{Scene, says};

#[tokio::test(flavor = "multi_thread")]
async fn the_demonstration_is_stepped_by_click_by_key_and_by_itself() {
    let scene = Scene::start().await;
    let page = scene.open(Screen::WIDE, "/walk-through").await;
    says(&page, "Step 1 of 6").await;
    page.eval("window.marked = true").await.unwrap();
    page.click("#step-next").await.unwrap();
    says(&page, "Shard host-4.2 moves from host-4 to host-1").await;
    page.press("ArrowRight").await.unwrap();
    says(&page, "Shard host-4.1 moves from host-4 to host-3").await;
    page.press("ArrowLeft").await.unwrap();
    says(&page, "Step 2 of 6").await;
    page.until("the address holds the step", "location.search.includes('step=1')").await;
    page.click("#step-play").await.unwrap();
    says(&page, "Step 6 of 6").await;
    says(&page, "no host is above 1.15 of the mean").await;
    assert_eq!(page.eval("window.marked").await.unwrap(), true, "no page was loaded anew");
    assert_eq!(page.complaints(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_and_a_namespace_can_be_walked_through() {
    let scene = Scene::start().await;
    let page = scene.open(Screen::WIDE, "/walk-through").await;
    let choose = "(() => { const files = new DataTransfer(); \
        files.items.add(new File(['shard,load,host\\na,9,x\\nb,1,x\\nc,1,y\\n'], 'mine.csv')); \
        document.querySelector('#csv').files = files.files; return true; })()";
    page.eval(choose).await.unwrap();
    page.click("form[method=post] button").await.unwrap();
    says(&page, "mine.csv").await;
    says(&page, "x").await;
    page.click("form[action='/walk-through/live'] button").await.unwrap();
    says(&page, "orders at").await;
    says(&page, "host-<b>6").await;
    assert_eq!(page.complaints(), [""; 0]);
}
