//! The rules of the layout: a model in, one sentence a violation out.
//!
//! Dependencies of tests are exempt, except that they too come from the
//! workspace's list.

use super::model::{Dependency, Import, Package};

/// From the ground up; what is as high may be neighbours.
const STOREYS: [(&str, u8); 6] =
    [("core", 0), ("io", 1), ("sdk", 2), ("app", 3), ("tools", 4), ("examples", 4)];

/// Runtimes, wires, servers, stores: nothing that a pure core may know. Stands
/// for every package whose name begins so.
const IMPURE: [&str; 21] = [
    "async-",
    "axum",
    "chrono",
    "clap",
    "etcd-",
    "futures",
    "h2",
    "http",
    "hyper",
    "jiff",
    "mio",
    "parking_lot",
    "prometheus-client",
    "prost",
    "redb",
    "reqwest",
    "rustls",
    "tokio",
    "tonic",
    "tower",
    "tracing",
];

const SHARDING: [&str; 3] = ["plimsoll-placement", "plimsoll-ownership", "plimsoll-routing"];
const SHEDDING: [&str; 1] = ["plimsoll-shedding"];

/// The arrows between cores: who, whom, and which module if not all of it. The
/// clock of the cores, `Time`, lives in placement.
const CORE_ARROWS: [(&str, &str, Option<&str>); 2] = [
    ("plimsoll-ownership", "plimsoll-placement", None),
    ("plimsoll-routing", "plimsoll-placement", Some("time")),
];

/// Knows every core, since it turns all of them into bytes.
const WIRE: &str = "plimsoll-wire";

/// Everything that is wrong, package by package.
pub(crate) fn violations(packages: &[Package]) -> Vec<String> {
    packages.iter().flat_map(|package| of_package(package, packages)).collect()
}

fn of_package(package: &Package, packages: &[Package]) -> Vec<String> {
    let Some(height) = height(package) else {
        return vec![format!(
            "{}: {:?} is no storey of the workspace",
            package.name, package.folder
        )];
    };
    let found = [
        upward(package, height, packages),
        sideways_in_core(package, packages),
        families_meeting(package),
        impure_dependencies(package),
        async_functions(package),
        hygiene(package),
    ];
    found.concat()
}

fn height(package: &Package) -> Option<u8> {
    STOREYS.iter().find(|(folder, _)| *folder == package.storey()).map(|(_, height)| *height)
}

fn upward(package: &Package, height_of_package: u8, packages: &[Package]) -> Vec<String> {
    let is_above = |target: &&Package| height(target).is_some_and(|it| it > height_of_package);
    let above = targets(package, packages).filter(is_above);
    above
        .map(|target| {
            let (from, to) = (&package.folder, &target.folder);
            format!("{}: depends on {}: {from} -> {to} points up", package.name, target.name)
        })
        .collect()
}

fn sideways_in_core(package: &Package, packages: &[Package]) -> Vec<String> {
    if package.storey() != "core" {
        return Vec::new();
    }
    let cores = targets(package, packages).filter(|target| target.storey() == "core");
    cores.flat_map(|target| unlawful_arrow(package, &target.name)).collect()
}

fn unlawful_arrow(package: &Package, target: &str) -> Vec<String> {
    let arrow = CORE_ARROWS.iter().find(|(from, to, _)| (*from, *to) == (&package.name, target));
    match arrow {
        None => vec![format!("{}: depends on {target}: a core knows no other", package.name)],
        Some((.., None)) => Vec::new(),
        Some((.., Some(module))) => beyond_module(package, target, module),
    }
}

fn beyond_module(package: &Package, target: &str, module: &str) -> Vec<String> {
    let beyond = |it: &&Import| it.package == target && it.module != module;
    let found = package.imports.iter().filter(beyond);
    found
        .map(|it| {
            format!("{}: {}: takes more from {target} than `{module}`", package.name, it.place)
        })
        .collect()
}

/// Packages of the workspace that ship with this one.
fn targets<'a>(package: &'a Package, packages: &'a [Package]) -> impl Iterator<Item = &'a Package> {
    package
        .shipped()
        .filter_map(|dependency| packages.iter().find(|target| target.name == dependency.name))
}

/// Sharding and shedding meet in app, and behind a feature in sdk.
fn families_meeting(package: &Package) -> Vec<String> {
    let below = matches!(package.storey(), "core" | "io") && package.name != WIRE;
    let knows = |family: &[&str]| {
        let in_family = |name: &str| family.contains(&name);
        in_family(&package.name) || package.shipped().any(|it| in_family(&it.name))
    };
    if below && knows(&SHARDING) && knows(&SHEDDING) {
        vec![format!(
            "{}: knows both sharding and shedding: they meet in app and sdk only",
            package.name
        )]
    } else {
        Vec::new()
    }
}

fn impure_dependencies(package: &Package) -> Vec<String> {
    if package.storey() != "core" {
        return Vec::new();
    }
    let impure = |it: &&Dependency| IMPURE.iter().any(|name| it.name.starts_with(name));
    let found = package.shipped().filter(impure);
    found
        .map(|it| {
            format!(
                "{}: depends on {}: a core knows no runtime, wire or store",
                package.name, it.name
            )
        })
        .collect()
}

fn async_functions(package: &Package) -> Vec<String> {
    if package.storey() != "core" {
        return Vec::new();
    }
    let places = package.async_functions.iter();
    places.map(|place| format!("{}: {place}: a core has no `async fn`", package.name)).collect()
}

fn hygiene(package: &Package) -> Vec<String> {
    let lints = (!package.workspace_lints)
        .then(|| format!("{}: its manifest lacks `[lints] workspace = true`", package.name));
    let private = package.dependencies.iter().filter(|dependency| !dependency.from_workspace);
    let private = private.map(|it| {
        format!(
            "{}: {} is not `workspace = true`: declare it in the root manifest",
            package.name, it.name
        )
    });
    lints.into_iter().chain(private).collect()
}

#[cfg(test)]
mod tests {
    use super::super::model::Kind;
    use super::*;

    fn package(folder: &str, dependencies: &[&str]) -> Package {
        let dependency = |name: &&str| Dependency {
            name: (*name).to_owned(),
            kind: Kind::Normal,
            from_workspace: true,
        };
        Package {
            name: format!("plimsoll-{}", folder.split('/').next_back().unwrap_or_default()),
            folder: folder.to_owned(),
            dependencies: dependencies.iter().map(dependency).collect(),
            workspace_lints: true,
            ..Package::default()
        }
    }

    fn clean() -> Vec<Package> {
        vec![
            package("core/placement", &["rand"]),
            package("core/ownership", &["plimsoll-placement"]),
            package("core/routing", &[]),
            package("core/shedding", &[]),
            package("io/wire", &["plimsoll-ownership", "plimsoll-shedding", "tonic"]),
            package("sdk/client", &["plimsoll-wire", "plimsoll-routing", "plimsoll-shedding"]),
            package("app/server", &["plimsoll-wire", "tokio"]),
            package("app/plimsoll", &["plimsoll-server"]),
            package("tools/testkit", &["plimsoll-server"]),
            package("examples/counter", &["plimsoll-client"]),
        ]
    }

    /// The violations of the clean workspace with one package put in or replaced.
    fn with(planted: Package) -> Vec<String> {
        let mut packages = clean();
        packages.retain(|package| package.name != planted.name);
        packages.push(planted);
        violations(&packages)
    }

    #[test]
    fn the_intended_shape_has_no_violation() {
        assert_eq!(violations(&clean()), Vec::<String>::new());
    }

    #[test]
    fn an_arrow_that_points_up_is_found() {
        let found = with(package("core/placement", &["plimsoll-server"]));
        assert_eq!(
            found,
            [
                "plimsoll-placement: depends on plimsoll-server: core/placement -> app/server points up"
            ]
        );
        assert_eq!(with(package("io/wire", &["plimsoll-client"])).len(), 1);
        assert_eq!(with(package("sdk/client", &["plimsoll-server"])).len(), 1);
        assert_eq!(with(package("app/server", &["plimsoll-testkit"])).len(), 1);
    }

    #[test]
    fn a_build_dependency_that_points_up_is_found_and_a_test_dependency_is_not() {
        let mut planted = package("io/wire", &["plimsoll-server"]);
        planted.dependencies[0].kind = Kind::Build;
        assert_eq!(with(planted.clone()).len(), 1);
        planted.dependencies[0].kind = Kind::Dev;
        assert_eq!(with(planted), Vec::<String>::new());
    }

    #[test]
    fn an_arrow_between_cores_is_found() {
        let found = with(package("core/placement", &["plimsoll-routing"]));
        assert_eq!(
            found,
            ["plimsoll-placement: depends on plimsoll-routing: a core knows no other"]
        );
    }

    #[test]
    fn routing_takes_nothing_from_placement_but_its_time() {
        let mut planted = package("core/routing", &["plimsoll-placement"]);
        let mut import = |module: &str| {
            planted.imports.push(Import {
                package: "plimsoll-placement".to_owned(),
                module: module.to_owned(),
                place: "src/table.rs:7".to_owned(),
            });
            with(planted.clone())
        };
        assert_eq!(import("time"), Vec::<String>::new());
        let rule = "takes more from plimsoll-placement than `time`";
        assert_eq!(import("plan"), [format!("plimsoll-routing: src/table.rs:7: {rule}")]);
    }

    #[test]
    fn sharding_and_shedding_meeting_below_sdk_is_found() {
        let store = package("io/store", &["plimsoll-ownership", "plimsoll-shedding"]);
        let rule = "knows both sharding and shedding: they meet in app and sdk only";
        assert_eq!(with(store), [format!("plimsoll-store: {rule}")]);
        let core = with(package("core/shedding", &["plimsoll-routing"]));
        assert_eq!(core.len(), 2, "between cores, and both families: {core:?}");
    }

    #[test]
    fn a_runtime_in_a_core_is_found() {
        let found = with(package("core/placement", &["tokio-util"]));
        assert_eq!(
            found,
            ["plimsoll-placement: depends on tokio-util: a core knows no runtime, wire or store"]
        );
        assert_eq!(with(package("io/store", &["tokio-util"])), Vec::<String>::new());
    }

    #[test]
    fn an_async_function_in_a_core_is_found() {
        let mut planted = package("core/routing", &[]);
        planted.async_functions.push("src/lib.rs:3".to_owned());
        assert_eq!(with(planted), ["plimsoll-routing: src/lib.rs:3: a core has no `async fn`"]);
    }

    #[test]
    fn a_manifest_without_the_lints_of_the_workspace_is_found() {
        let mut planted = package("app/server", &[]);
        planted.workspace_lints = false;
        assert_eq!(
            with(planted),
            ["plimsoll-server: its manifest lacks `[lints] workspace = true`"]
        );
    }

    #[test]
    fn a_dependency_with_a_version_of_its_own_is_found() {
        let mut planted = package("app/server", &["serde"]);
        planted.dependencies[0].from_workspace = false;
        planted.dependencies[0].kind = Kind::Dev;
        let rule = "is not `workspace = true`: declare it in the root manifest";
        assert_eq!(with(planted), [format!("plimsoll-server: serde {rule}")]);
    }

    #[test]
    fn a_folder_that_is_no_storey_is_found() {
        let found = with(package("misc/thing", &[]));
        assert_eq!(found, ["plimsoll-thing: \"misc/thing\" is no storey of the workspace"]);
    }
}
