//! The caller's name from its client certificate.
//!
//! The certificate has been verified by whoever made the connection; here only a
//! name is taken out of it: the subject's common name, or else its first
//! alternative name.

mod der;

use http::Extensions;
use tonic::transport::server::{TcpConnectInfo, TlsConnectInfo, UdsConnectInfo};

/// The name on the certificate of whoever sent this request.
pub(crate) fn caller(extensions: &Extensions) -> Option<String> {
    let tcp =
        || extensions.get::<TlsConnectInfo<TcpConnectInfo>>().and_then(TlsConnectInfo::peer_certs);
    let uds =
        || extensions.get::<TlsConnectInfo<UdsConnectInfo>>().and_then(TlsConnectInfo::peer_certs);
    let certificates = tcp().or_else(uds)?;
    name(certificates.first()?)
}

/// X.509 (RFC 5280), as far as names go.
fn name(certificate: &[u8]) -> Option<String> {
    let whole = der::within(certificate, der::SEQUENCE)?;
    let mut fields = der::Reader::new(der::within(whole, der::SEQUENCE)?).peekable();
    fields.next_if(|field| field.tag == VERSION);
    // Serial number, signature algorithm, issuer, validity.
    let mut rest = fields.skip(4);
    let subject = rest.next()?;
    common_name(subject.content).or_else(|| alternative_name(&mut rest))
}

/// `[0]` before the serial number.
const VERSION: u8 = 0xa0;
/// `[3]` after the public key.
const EXTENSIONS: u8 = 0xa3;
/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// 2.5.29.17
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];
/// `[2]` and `[6]` of a general name.
const DNS_NAME: u8 = 0x82;
const URI: u8 = 0x86;

fn common_name(subject: &[u8]) -> Option<String> {
    der::Reader::new(subject).find_map(|set| {
        der::Reader::new(set.content).find_map(|attribute| {
            let mut parts = der::Reader::new(attribute.content);
            let (kind, value) = (parts.next()?, parts.next()?);
            (kind.content == COMMON_NAME).then(|| text(value.content)).flatten()
        })
    })
}

fn alternative_name<'a>(fields: &mut impl Iterator<Item = der::Element<'a>>) -> Option<String> {
    let extensions = fields.find(|field| field.tag == EXTENSIONS)?;
    let all = der::Reader::new(der::within(extensions.content, der::SEQUENCE)?);
    let names = all.filter_map(|extension| {
        let parts: Vec<_> = der::Reader::new(extension.content).collect();
        let is_it = parts.first()?.content == SUBJECT_ALT_NAME;
        // Between the two may be whether it is critical.
        is_it.then(|| der::within(parts.last()?.content, der::SEQUENCE)).flatten()
    });
    let mut names = names.flat_map(der::Reader::new);
    names.find(|name| matches!(name.tag, DNS_NAME | URI)).and_then(|name| text(name.content))
}

fn text(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    (!text.is_empty() && !text.contains(char::is_control)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;

    fn certificate(common_name: Option<&str>, alternatives: &[&str]) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "Acme");
        if let Some(name) = common_name {
            params.distinguished_name.push(DnType::CommonName, name);
        }
        for &name in alternatives {
            params.subject_alt_names.push(match name.contains("://") {
                true => SanType::URI(name.try_into().unwrap()),
                false => SanType::DnsName(name.try_into().unwrap()),
            });
        }
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn the_common_name_comes_before_alternatives() {
        let both = certificate(Some("checkout"), &["checkout.svc"]);
        assert_eq!(name(&both).as_deref(), Some("checkout"));
        let dns = certificate(None, &["checkout.svc", "other.svc"]);
        assert_eq!(name(&dns).as_deref(), Some("checkout.svc"));
        let spiffe = certificate(None, &["spiffe://acme/checkout"]);
        assert_eq!(name(&spiffe).as_deref(), Some("spiffe://acme/checkout"));
        assert_eq!(name(&certificate(None, &[])), None);
    }

    #[test]
    fn no_truncation_of_a_certificate_breaks_anything() {
        let whole = certificate(None, &["checkout.svc"]);
        for length in 0..whole.len() {
            let _name = name(&whole[..length]);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_anything(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _name = name(&bytes);
        }
    }
}
