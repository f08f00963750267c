//! Under lasting overload: who is served, how fast, and how evenly.

use super::{kinds, level, mean, mix, over_seeds};
use crate::simulation::{Service, Source};

#[test]
fn critical_requests_all_succeed_and_capacity_is_used() {
    println!("limit total goodput/C critical low p99 p99critical p99refusal swing");
    for (name, queue) in kinds() {
        for total in [1.25, 1.33, 2.0, 4.0] {
            let mut scene = mix(queue, 0.667, total);
            scene.seconds = 16.0;
            let records = over_seeds(&scene, 3);
            let (critical, low) = (level(&records, &scene, 2), level(&records, &scene, 4));
            let goodput = mean(&records, |it| it.goodput(&scene));
            let p99 = mean(&records, |it| it.all().answered(0.99));
            let refusal = mean(&records, |it| it.all().refused(0.99));
            let swing = mean(&records, |it| it.swing(3));
            println!(
                "{name} {total} {goodput:.3} {:.5} {:.3} {p99:.0} {:.0} {refusal:.2} {swing:.2}",
                critical.success(),
                low.success(),
                critical.answered(0.99),
            );
            assert_eq!(critical.success(), 1.0);
            assert!(goodput >= 0.98, "{name} {total} goodput {goodput}");
            assert!(p99 <= 100.0 && refusal <= 1.0);
            assert!(total != 1.33 || low.success() >= 0.48, "{}", low.success());
            assert!(total < 2.0 || swing <= 2.0, "{name} {total} swing {swing}");
        }
    }
}

#[test]
fn every_distribution_of_handling_times_is_carried() {
    for (name, queue) in kinds() {
        for distribution in [Service::Constant, Service::Bimodal] {
            let mut scene = mix(queue, 0.667, 2.0);
            scene.distribution = distribution;
            let records = over_seeds(&scene, 3);
            let goodput = mean(&records, |it| it.goodput(&scene));
            let critical = level(&records, &scene, 2);
            println!("{name} {distribution:?} goodput {goodput:.3} {:.5}", critical.success());
            assert_eq!(critical.refused + critical.expired, 0);
            assert!(goodput >= 0.95, "{name} {distribution:?} {goodput}");
        }
    }
}

#[test]
fn critical_requests_alone_in_excess_are_carried_as_far_as_they_can_be() {
    for (name, queue) in kinds() {
        for critical in [1.3, 2.0] {
            let mut scene = mix(queue, critical, critical + 0.7);
            scene.sources.push(Source::new(1, 0.05 * scene.capacity()));
            let records = over_seeds(&scene, 3);
            let goodput = mean(&records, |it| it.goodput(&scene));
            let [first, second, low] = [1, 2, 4].map(|it| level(&records, &scene, it));
            let late = second.late as f64 / second.offered as f64;
            println!(
                "{name} critical {critical}: goodput {goodput:.3} late {late:.4} low {}",
                low.ok
            );
            assert!(goodput >= 0.97, "{name} {critical} {goodput}");
            assert_eq!((first.success(), low.ok, second.refused), (1.0, 0, 0));
            assert!(late < 0.01);
        }
    }
}
