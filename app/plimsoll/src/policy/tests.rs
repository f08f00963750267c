use super::*;

const POLICY: &str = r#"
enforcement = "dry-run"

[[groups]]
name = "orders"
endpoints = ["/orders.v1.Orders/*"]
enforcement = "enforce"
queue = { concurrency = 16 }

[[rules]]
caller = "*"
criticality = 4

[[rules]]
endpoint = "/orders.v1.Orders/*"
caller = "checkout"
criticality = 1

[[rules]]
endpoint = "/readyz"
criticality = 2
"#;

fn check(endpoint: &str, caller: Option<&str>) -> Check {
    Check {
        file: PathBuf::from("policy.toml"),
        endpoint: Some(endpoint.to_owned()),
        caller: caller.map(str::to_owned),
        json: false,
    }
}

fn told(check: &Check) -> String {
    let loaded = Loaded::parse(&check.file, POLICY).unwrap();
    text::of(&check.file, &report(check, &loaded))
}

#[test]
fn a_request_is_explained_with_the_rule_the_group_and_the_settings() {
    let text = told(&check("/orders.v1.Orders/Get", Some("checkout")));
    for line in [
        "policy.toml: valid, version ",
        "enforcement dry-run, default criticality 3",
        "  orders: one queue, enforce: /orders.v1.Orders/*",
        "  1. \"*\", everywhere: criticality 4",
        "  rule 3 (endpoint \"/readyz\") never decides anything: its endpoints are bypassed",
        "a call of \"/orders.v1.Orders/Get\" by \"checkout\"",
        "  criticality 1, by rule 2 (endpoint \"/orders.v1.Orders/*\", caller \"checkout\")",
        "  enforcement enforce, by group \"orders\"",
        "  queue \"orders\", of group \"orders\"",
        "    concurrency          16",
    ] {
        assert!(text.contains(line), "{line}\n---\n{text}");
    }
}

#[test]
fn what_is_bypassed_is_told_and_nothing_else() {
    let text = told(&check("GET /healthz", None));
    assert!(text.contains("is bypassed") && !text.contains("of its own"), "{text}");
}

#[test]
fn json_says_the_same_and_what_is_wrong() {
    let check = check("/x", None);
    let loaded = Loaded::parse(&check.file, POLICY);
    let valid = serde_json::to_value(answer(&check, &loaded)).unwrap();
    assert_eq!((&valid["valid"], &valid["explanation"]["criticality"]), (&true.into(), &4.into()));
    assert_eq!(valid["explanation"]["enforcement_by"], "the default");
    assert_eq!(valid["groups"][0]["name"], "orders");
    let broken = Loaded::parse(&check.file, "\nenforcment = 1");
    let invalid = serde_json::to_value(answer(&check, &broken)).unwrap();
    assert_eq!((&invalid["valid"], &invalid["error"]["line"]), (&false.into(), &2.into()));
    assert!(invalid["error"]["message"].as_str().unwrap().contains("enforcement"), "{invalid}");
}

/// A pipe with this at its other end.
struct Reader(ErrorKind);

impl Write for Reader {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_who_has_left_is_no_failure_and_a_full_disk_is() {
    print("text", &mut Reader(ErrorKind::BrokenPipe)).unwrap();
    print("text", &mut Reader(ErrorKind::StorageFull)).unwrap_err();
}

#[test]
fn a_space_before_a_path_is_told() {
    let odd = "bypass = [\" /dead\"]";
    let error = Loaded::parse(&PathBuf::from("policy.toml"), odd).unwrap_err().to_string();
    assert!(error.contains("remove the space"), "{error}");
}
