//! Finds the request message of a method: by reflection, in a `.proto` file, or in
//! a set of descriptors.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use prost_reflect::{DescriptorPool, MessageDescriptor, MethodDescriptor};

use super::reflection;
use crate::error::Error;
use crate::plan::{Plan, Schema};
use crate::wire::Dialer;

pub(super) async fn input(
    plan: &Plan,
    dialer: &Dialer,
    method: &str,
    schema: &Schema,
) -> Result<MessageDescriptor, Error> {
    let source = Source { method, from: from(plan, schema) };
    let (service, name) = method
        .split_once('/')
        .filter(|(service, name)| !service.is_empty() && !name.is_empty() && !name.contains('/'))
        .ok_or_else(|| {
            Error::Plan(format!("{method:?} is no gRPC method; write package.Service/Method"))
        })?;
    let pool = match schema {
        Schema::Reflection => reflection::pool(dialer, service).await.map_err(|why| {
            source.fault(why, "switch reflection (v1) on there, or give --proto or --descriptors")
        })?,
        Schema::Proto { file, includes } => from_proto(&source, file, includes)?,
        Schema::Descriptors(file) => from_descriptors(&source, file)?,
    };
    unary(&source, &find(&source, &pool, service, name)?)
}

/// What messages about a missing method name.
struct Source<'a> {
    method: &'a str,
    from: String,
}

impl Source<'_> {
    fn fault(&self, why: impl Display, advice: &'static str) -> Error {
        let method = self.method.to_owned();
        Error::Schema { method, from: self.from.clone(), why: why.to_string(), advice }
    }
}

fn from(plan: &Plan, schema: &Schema) -> String {
    match schema {
        Schema::Reflection => format!("the reflection service at {}", plan.target.origin()),
        Schema::Proto { file, .. } | Schema::Descriptors(file) => file.display().to_string(),
    }
}

fn from_proto(
    source: &Source<'_>,
    file: &Path,
    includes: &[PathBuf],
) -> Result<DescriptorPool, Error> {
    // A bare file name has the empty path as its parent.
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let advice = "correct the file, or name the folders of its imports with --include";
    let folders: Vec<&Path> = if includes.is_empty() {
        vec![folder]
    } else {
        includes.iter().map(PathBuf::as_path).collect()
    };
    let set = protox::compile([file], folders).map_err(|why| source.fault(why, advice))?;
    DescriptorPool::from_file_descriptor_set(set).map_err(|why| source.fault(why, advice))
}

fn from_descriptors(source: &Source<'_>, file: &Path) -> Result<DescriptorPool, Error> {
    let read = std::fs::read(file);
    let bytes = read.map_err(|source| Error::Read { path: file.to_owned(), source })?;
    let advice = "make it with protoc --include_imports --descriptor_set_out";
    DescriptorPool::decode(bytes.as_slice()).map_err(|why| source.fault(why, advice))
}

fn find(
    source: &Source<'_>,
    pool: &DescriptorPool,
    service: &str,
    name: &str,
) -> Result<MethodDescriptor, Error> {
    let Some(found) = pool.get_service_by_name(service) else {
        let known: Vec<_> = pool.services().map(|it| it.full_name().to_owned()).collect();
        let why = format!("there is no service {service}, only {}", listed(&known));
        return Err(source.fault(why, "correct the name of the service"));
    };
    found.methods().find(|method| method.name() == name).ok_or_else(|| {
        let known: Vec<_> = found.methods().map(|it| it.name().to_owned()).collect();
        let why = format!("{service} has no method {name}, only {}", listed(&known));
        source.fault(why, "correct the name of the method")
    })
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none at all".into() } else { names.join(", ") }
}

fn unary(source: &Source<'_>, method: &MethodDescriptor) -> Result<MessageDescriptor, Error> {
    if method.is_client_streaming() || method.is_server_streaming() {
        return Err(source.fault("it is a stream", "name a unary method"));
    }
    Ok(method.input())
}
