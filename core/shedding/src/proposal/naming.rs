//! From what a span says of itself to the name that its endpoint has in a policy.

/// The longest name of an endpoint, in bytes.
const MAX_BYTES: usize = 256;
/// A longer part of a path is an identifier whatever it looks like.
const MAX_SEGMENT_BYTES: usize = 32;
/// Parts of a path that are told apart.
const MAX_SEGMENTS: usize = 8;

/// What a span of a server says of the call. Empty: it does not say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spoken<'a> {
    /// The span's name.
    pub operation: &'a str,
    pub http_method: &'a str,
    /// As the framework wrote it: `/users/{id}`, `/users/:id`, `/users/<id>`.
    pub http_route: &'a str,
    /// A path, or a whole address.
    pub http_path: &'a str,
    /// With its package: `orders.v1.Orders`.
    pub rpc_service: &'a str,
    pub rpc_method: &'a str,
}

/// The endpoint as a policy names it, parameters and identifiers as `*`. `None`:
/// the span does not tell.
pub fn endpoint(spoken: &Spoken<'_>) -> Option<String> {
    let Spoken { operation, http_method, http_route, http_path, rpc_service, rpc_method } = *spoken;
    let name = if is_dotted(rpc_service) && !rpc_method.is_empty() {
        format!("/{rpc_service}/{}", last(rpc_method))
    } else if !http_route.is_empty() {
        http(http_method, http_route)?
    } else if let Some(rpc) = as_rpc(operation) {
        rpc
    } else if let Some((method, path)) = as_http(operation) {
        http(if method.is_empty() { http_method } else { method }, path)?
    } else {
        http(http_method, http_path)?
    };
    (name.len() <= MAX_BYTES && !name.contains(char::is_control)).then_some(name)
}

/// `package.Service/Method`, maybe with a slash before it.
fn as_rpc(operation: &str) -> Option<String> {
    let (service, method) = operation.strip_prefix('/').unwrap_or(operation).split_once('/')?;
    let is_method = !method.is_empty() && method.bytes().all(is_of_identifier);
    (is_dotted(service) && is_method).then(|| format!("/{service}/{method}"))
}

/// gRPC's services have a package, and their names begin with a capital.
fn is_dotted(service: &str) -> bool {
    let of_service = |byte| is_of_identifier(byte) || byte == b'.';
    let last = service.rsplit('.').next().unwrap_or_default();
    let is_capital = last.starts_with(|c: char| c.is_ascii_uppercase());
    service.contains('.') && is_capital && service.bytes().all(of_service)
}

fn is_of_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// `GET /path`, `HTTP GET /path` or `/path`: the method, empty if there is none,
/// and the path.
fn as_http(operation: &str) -> Option<(&str, &str)> {
    let operation = operation.strip_prefix("HTTP ").unwrap_or(operation);
    let (method, path) = operation.split_once(' ').unwrap_or(("", operation));
    let is_method = method.bytes().all(|byte| byte.is_ascii_uppercase());
    (is_method && path.starts_with('/')).then_some((method, path))
}

fn http(method: &str, path: &str) -> Option<String> {
    let path = masked(without_address(path)?);
    let method = method.to_ascii_uppercase();
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    Some(if is_method { format!("{method} {path}") } else { path })
}

/// The path alone, without host and query.
fn without_address(path: &str) -> Option<&str> {
    let path = match path.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => path,
    };
    let path = path.split(['?', '#']).next()?;
    path.starts_with('/').then_some(path)
}

/// The last part of a method's full name.
fn last(method: &str) -> &str {
    method.rsplit(['/', '.']).next().unwrap_or(method)
}

/// Parameters and identifiers become `*`, and so does what is too deep.
fn masked(path: &str) -> String {
    let mut name = String::new();
    for (at, segment) in path.split('/').skip(1).enumerate() {
        name.push('/');
        if at == MAX_SEGMENTS {
            name.push('*');
            break;
        }
        name.push_str(if is_variable(segment) { "*" } else { segment });
    }
    name
}

fn is_variable(segment: &str) -> bool {
    let is_parameter = segment.starts_with([':', '<', '*']) || segment.contains('{');
    let is_plain =
        segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
    !segment.is_empty()
        && (is_parameter || !is_plain || segment.len() > MAX_SEGMENT_BYTES || is_number(segment))
}

/// All digits, or a long mixture of digits and what hexadecimal has.
fn is_number(segment: &str) -> bool {
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    let is_hex = segment.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_long = segment.len() >= 6;
    digits == segment.len() || is_long && (digits * 2 > segment.len() || is_hex && digits > 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::{Policy, Rule, Table};

    fn of_operation(operation: &str) -> Option<String> {
        endpoint(&Spoken { operation, ..Spoken::default() })
    }

    #[test]
    fn an_operation_that_names_its_endpoint_is_taken_at_its_word() {
        for (operation, expected) in [
            ("/orders.v1.Orders/Get", Some("/orders.v1.Orders/Get")),
            ("orders.v1.Orders/Get", Some("/orders.v1.Orders/Get")),
            ("GET /users/{id}", Some("GET /users/*")),
            ("HTTP GET /users/:id/orders", Some("GET /users/*/orders")),
            ("/users/<int:id>", Some("/users/*")),
            ("/dispatch", Some("/dispatch")),
            ("GET", None),
            ("render template", None),
            ("HTTP GET", None),
        ] {
            assert_eq!(of_operation(operation).as_deref(), expected, "{operation}");
        }
    }

    #[test]
    fn attributes_say_more_than_the_operation() {
        let rpc = Spoken {
            operation: "oteldemo.Cart/Add",
            rpc_service: "oteldemo.CartService",
            rpc_method: "AddItem",
            ..Spoken::default()
        };
        assert_eq!(endpoint(&rpc).as_deref(), Some("/oteldemo.CartService/AddItem"));
        let http = Spoken { operation: "GET", http_method: "GET", ..Spoken::default() };
        let at = |http_path| endpoint(&Spoken { http_path, ..http });
        assert_eq!(at("http://menu:8080/items/17?x=1").as_deref(), Some("GET /items/*"));
        assert_eq!(at("/items/0c3f9d7a-11e2").as_deref(), Some("GET /items/*"));
        assert_eq!(at("http://menu:8080").as_deref(), Some("GET /"));
        assert_eq!(at(""), None);
        let route = Spoken { http_route: "/items/{id}", http_path: "/items/soup", ..http };
        assert_eq!(endpoint(&route).as_deref(), Some("GET /items/*"));
    }

    proptest! {
        #[test]
        fn every_name_can_stand_in_a_policy(
            operation in "\\PC{0,40}", http_route in "(/\\PC{0,20}){0,4}", http_method in "[A-Za-z]{0,6}"
        ) {
            let spoken = Spoken {
                operation: &operation, http_route: &http_route, http_method: &http_method,
                ..Spoken::default()
            };
            if let Some(name) = endpoint(&spoken) {
                let rule = Rule {
                    endpoint: Some(name.clone()),
                    criticality: Some(crate::Criticality::Feature),
                    ..Rule::default()
                };
                let policy = Policy { rules: vec![rule], ..Policy::default() };
                prop_assert!(Table::compile(&policy).is_ok(), "{}", name);
            }
        }
    }
}
