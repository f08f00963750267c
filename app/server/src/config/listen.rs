//! Addresses, and who may reach them.

use std::net::SocketAddr;

use super::{Config, Error, StoreKind};

/// The two addresses, checked: nothing listens beyond loopback without client
/// certificates unless that was asked for.
///
/// # Errors
/// Not an address, half a TLS configuration, or an open port nobody asked for.
pub fn check_exposure(config: &Config) -> Result<(SocketAddr, SocketAddr), Error> {
    let certificate = !config.tls.certificate.as_os_str().is_empty();
    let key = !config.tls.key.as_os_str().is_empty();
    let client_ca = !config.tls.client_ca.as_os_str().is_empty();
    if certificate != key || (client_ca && !certificate) {
        let missing = if certificate { "key" } else { "certificate" };
        return Err(Error::HalfTls { missing });
    }
    let server_ca = client_ca || !config.tls.server_ca.as_os_str().is_empty();
    if config.store == StoreKind::Etcd && certificate && !server_ca {
        return Err(Error::NoServerCa);
    }
    let grpc = address("grpc.listen", &config.grpc.listen)?;
    let http = address("http.listen", &config.http.listen)?;
    refuse_open("grpc.listen", grpc, client_ca || config.allow_open)?;
    // The HTTP port has no credentials of its own.
    refuse_open("http.listen", http, config.allow_open)?;
    Ok((grpc, http))
}

fn address(key: &'static str, value: &str) -> Result<SocketAddr, Error> {
    value.parse().map_err(|_| Error::Address { key, value: value.to_owned() })
}

fn refuse_open(key: &'static str, address: SocketAddr, allowed: bool) -> Result<(), Error> {
    if address.ip().is_loopback() || allowed {
        return Ok(());
    }
    Err(Error::Exposed { key, value: address.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listening(on: &str) -> Config {
        let mut config = Config::default();
        config.grpc.listen = on.to_owned();
        config
    }

    #[test]
    fn loopback_needs_nothing() {
        assert!(check_exposure(&listening("[::1]:0")).is_ok());
    }

    #[test]
    fn beyond_loopback_needs_client_certificates_or_a_word() {
        assert!(matches!(check_exposure(&listening("0.0.0.0:1")), Err(Error::Exposed { .. })));
        let open = Config { allow_open: true, ..listening("0.0.0.0:1") };
        assert!(check_exposure(&open).is_ok());
    }

    #[test]
    fn a_certificate_without_its_key_is_refused() {
        let mut config = Config::default();
        config.tls.certificate = "cert.pem".into();
        let error = check_exposure(&config).unwrap_err().to_string();
        assert!(error.contains("tls.key"), "{error}");
    }
}
