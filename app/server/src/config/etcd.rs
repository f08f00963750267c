//! The configuration of etcd, checked, and what other servers call this one.

use std::net::SocketAddr;

use plimsoll_store::{EtcdOptions, EtcdTls};

use super::{Config, Error, Etcd, StoreKind};
use crate::tls;

impl Config {
    /// Where etcd is and who we are to it; `None` if the store is another one.
    ///
    /// # Errors
    /// Half of it is missing, or a file cannot be read.
    pub fn etcd_options(&self) -> Result<Option<EtcdOptions>, Error> {
        if self.store != StoreKind::Etcd {
            return self.etcd.refuse_if_set().map(|()| None);
        }
        let mut options = EtcdOptions::new(self.etcd.members());
        if options.endpoints.is_empty() {
            return Err(Error::NoEtcd);
        }
        options.prefix = Some(self.etcd.prefix.clone()).filter(|prefix| !prefix.is_empty());
        options.tls = self.etcd.tls()?;
        options.user = self.etcd.user()?;
        Ok(Some(options))
    }

    /// The address that other servers are told, where `grpc` is what this one
    /// listens on.
    ///
    /// # Errors
    /// It is none that another machine could use.
    pub fn advertised(&self, grpc: SocketAddr) -> Result<String, Error> {
        if self.advertise.is_empty() {
            let said = grpc.to_string();
            return if grpc.ip().is_unspecified() {
                Err(Error::NoAdvertise(said))
            } else {
                Ok(said)
            };
        }
        let parts = self.advertise.rsplit_once(':');
        match parts.map(|(host, port)| (host, port.parse::<u16>())) {
            // A test, or a machine with one port, lets the system choose it.
            Some((host, Ok(0))) if !host.is_empty() => Ok(format!("{host}:{}", grpc.port())),
            Some((host, Ok(_))) if !host.is_empty() && !host.contains('/') => {
                Ok(self.advertise.clone())
            }
            _ => Err(Error::Advertise(self.advertise.clone())),
        }
    }
}

impl Etcd {
    fn refuse_if_set(&self) -> Result<(), Error> {
        let path = |path: &std::path::Path| !path.as_os_str().is_empty();
        let all = [
            ("urls", !self.urls.is_empty()),
            ("prefix", !self.prefix.is_empty()),
            ("ca", path(&self.ca)),
            ("certificate", path(&self.certificate)),
            ("key", path(&self.key)),
            ("user", !self.user.is_empty()),
            ("password_file", path(&self.password_file)),
        ];
        match all.into_iter().find(|(_, set)| *set) {
            Some((key, _)) => Err(Error::EtcdUnused(key)),
            None => Ok(()),
        }
    }

    fn members(&self) -> Vec<String> {
        let urls = self.urls.split(',').map(str::trim);
        urls.filter(|url| !url.is_empty()).map(str::to_owned).collect()
    }

    fn tls(&self) -> Result<EtcdTls, Error> {
        let both = "a client certificate is etcd.certificate and etcd.key together";
        let identity = match (self.certificate.as_os_str(), self.key.as_os_str()) {
            (certificate, key) if certificate.is_empty() && key.is_empty() => None,
            (certificate, _) if certificate.is_empty() => {
                return Err(Error::HalfEtcd { missing: "certificate", because: both });
            }
            (_, key) if key.is_empty() => {
                return Err(Error::HalfEtcd { missing: "key", because: both });
            }
            _ => Some((
                tls::certificate("etcd.certificate", &self.certificate)?,
                tls::read("etcd.key", &self.key)?,
            )),
        };
        let ca = match self.ca.as_os_str().is_empty() {
            true => None,
            false => Some(tls::certificate("etcd.ca", &self.ca)?),
        };
        Ok(EtcdTls { ca, identity, domain: None })
    }

    fn user(&self) -> Result<Option<(String, String)>, Error> {
        let both = "etcd's authentication needs etcd.user and etcd.password_file together";
        match (self.user.is_empty(), self.password_file.as_os_str().is_empty()) {
            (true, true) => Ok(None),
            (true, false) => Err(Error::HalfEtcd { missing: "user", because: both }),
            (false, true) => Err(Error::HalfEtcd { missing: "password_file", because: both }),
            (false, false) => {
                let text = tls::read("etcd.password_file", &self.password_file)?;
                let text = String::from_utf8_lossy(&text).trim_end_matches(['\n', '\r']).to_owned();
                Ok(Some((self.user.clone(), text)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_etcd(urls: &str) -> Config {
        let etcd = Etcd { urls: urls.to_owned(), ..Etcd::default() };
        Config { store: StoreKind::Etcd, etcd, ..Config::default() }
    }

    #[test]
    fn members_are_listed_with_commas() {
        let options = on_etcd("http://a:1, http://b:2,").etcd_options().unwrap().unwrap();
        assert_eq!(options.endpoints, ["http://a:1", "http://b:2"]);
    }

    #[test]
    fn etcd_without_an_address_is_refused() {
        let error = on_etcd(" , ").etcd_options().unwrap_err().to_string();
        assert!(error.contains("--etcd"), "{error}");
    }

    #[test]
    fn etcd_settings_for_another_store_are_refused() {
        let config = Config { store: StoreKind::File, ..on_etcd("http://a:1") };
        let error = config.etcd_options().unwrap_err().to_string();
        assert!(error.contains("etcd.urls"), "{error}");
    }

    #[test]
    fn a_user_without_a_password_is_refused() {
        let mut config = on_etcd("http://a:1");
        config.etcd.user = "root".to_owned();
        let error = config.etcd_options().unwrap_err().to_string();
        assert!(error.contains("password_file"), "{error}");
    }

    #[test]
    fn an_address_that_names_no_host_cannot_be_told_to_others() {
        let everywhere = "0.0.0.0:7943".parse().unwrap();
        let error = on_etcd("http://a:1").advertised(everywhere).unwrap_err().to_string();
        assert!(error.contains("--advertise"), "{error}");
        let mut config = on_etcd("http://a:1");
        config.advertise = "server-1:7943".to_owned();
        assert_eq!(config.advertised(everywhere).unwrap(), "server-1:7943");
        config.advertise = "http://server-1".to_owned();
        assert!(config.advertised(everywhere).is_err());
    }

    #[test]
    fn a_loopback_address_tells_itself() {
        let here = "127.0.0.1:7943".parse().unwrap();
        assert_eq!(on_etcd("http://a:1").advertised(here).unwrap(), "127.0.0.1:7943");
    }
}
