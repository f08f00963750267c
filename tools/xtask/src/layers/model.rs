//! A workspace as the rules see it.

/// One package of the workspace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Its folder from the root of the workspace: `core/placement`.
    pub(crate) folder: String,
    pub(crate) dependencies: Vec<Dependency>,
    /// Whether it has `[lints] workspace = true`.
    pub(crate) workspace_lints: bool,
    /// Where its sources say `async fn`: `src/lib.rs:3`.
    pub(crate) async_functions: Vec<String>,
    /// What its sources take from other packages of ours.
    pub(crate) imports: Vec<Import>,
}

/// One mention of another package of ours in a source.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Import {
    pub(crate) package: String,
    /// What follows its name: `time` in `plimsoll_placement::time::Time`.
    pub(crate) module: String,
    /// Where: `src/lib.rs:3`.
    pub(crate) place: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Whether the manifest says `workspace = true`.
    pub(crate) from_workspace: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

impl Package {
    /// The first folder: its storey.
    pub(crate) fn storey(&self) -> &str {
        self.folder.split('/').next().unwrap_or_default()
    }

    /// What ships with it: everything but what only its tests use.
    pub(crate) fn shipped(&self) -> impl Iterator<Item = &Dependency> {
        self.dependencies.iter().filter(|dependency| dependency.kind != Kind::Dev)
    }
}
