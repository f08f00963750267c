//! Whether the console takes orders, and from where.

use super::{Config, Orders};

impl Config {
    /// Whether the console takes orders; if not, why not, for whoever gives one.
    ///
    /// # Errors
    /// Why not.
    pub fn console_orders(&self) -> Result<(), String> {
        let asks_for_certificates = !self.tls.client_ca.as_os_str().is_empty();
        match self.http.orders {
            Orders::On => Ok(()),
            Orders::Auto if !asks_for_certificates => Ok(()),
            Orders::Auto => Err("this server takes orders only from holders of a certificate, \
                                 and the console cannot ask for one: use smctl, or set \
                                 http.orders = \"on\" where whoever reaches the HTTP port may \
                                 give them"
                .to_owned()),
            Orders::Off => {
                Err("orders by the console are switched off (http.orders): use smctl".to_owned())
            }
        }
    }

    /// Host names by which browsers may reach the console to give orders.
    pub fn console_names(&self) -> Vec<String> {
        let names = self.http.names.split(',').map(str::trim);
        names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking_for_certificates(orders: Orders) -> Config {
        let mut config = Config::default();
        config.tls.client_ca = "ca.pem".into();
        config.http.orders = orders;
        config
    }

    #[test]
    fn a_console_is_no_way_around_client_certificates() {
        assert!(Config::default().console_orders().is_ok());
        let why = asking_for_certificates(Orders::Auto).console_orders().unwrap_err();
        assert!(why.contains("http.orders"), "{why}");
        assert!(asking_for_certificates(Orders::On).console_orders().is_ok());
    }

    #[test]
    fn names_stand_with_commas_between_them() {
        let mut config = Config::default();
        config.http.names = "a.example, b.example,".to_owned();
        assert_eq!(config.console_names(), ["a.example", "b.example"]);
        config.http.orders = Orders::Off;
        assert!(config.console_orders().is_err());
    }
}
