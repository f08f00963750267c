//! Recognizes failures of TLS, which more tries do not mend, and knows what does.
//!
//! They pass through layers that keep no more of them than their text.

use crate::dialer::Chain;

/// What failures of TLS begin with, whoever noticed them.
const FAILURES: [&str; 4] = [
    "invalid peer certificate: ",
    "received fatal alert: ",
    "received corrupt message of type ",
    "peer is incompatible: ",
];

const OURS: &str = "give the CA that signed the server's certificate with Tls::ca_file or ca_pem";
const THEIRS: &str =
    "give a certificate signed by the server's tls.client_ca with Tls::identity_files";

/// What to do, by what a failure says: the first that fits.
const ADVICE: [(&str, &str); 11] = [
    (": UnknownIssuer", OURS),
    (": BadSignature", OURS),
    ("not valid for", "connect by a name that it is valid for, or give that with Tls::domain"),
    ("certificate expired", "renew the server's certificate, or set this machine's clock"),
    ("not valid yet", "set this machine's clock, or the server's when it makes certificates"),
    (": CertificateRequired", THEIRS),
    (": UnknownCA", THEIRS),
    (": BadCertificate", THEIRS),
    (": DecryptError", THEIRS),
    (": CertificateExpired", "renew this client's certificate"),
    ("corrupt message", "that port may not speak TLS: write http://, or set its tls.certificate"),
];

/// A failure of TLS.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Failure {
    pub(crate) why: String,
    pub(crate) advice: &'static str,
}

impl Failure {
    /// `None` if it is something else that went wrong.
    pub(crate) fn of(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        Self::in_text(&Chain(error).to_string())
    }

    fn in_text(text: &str) -> Option<Self> {
        let start = FAILURES.iter().find_map(|failure| text.rfind(failure))?;
        let why = text[start..].to_owned();
        let advice = ADVICE.iter().find(|(says, _)| why.contains(says));
        Some(Self { advice: advice.map_or("check its certificate", |(_, advice)| advice), why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_authority_is_told_from_a_server_that_is_away() {
        let failure = "invalid peer certificate: UnknownIssuer";
        let failure = Failure::in_text(&format!("transport error: {failure}: {failure}"));
        let why = "invalid peer certificate: UnknownIssuer".to_owned();
        assert_eq!(failure, Some(Failure { why, advice: OURS }));
        assert_eq!(Failure::in_text("transport error: connection refused"), None);
    }

    #[test]
    fn a_certificate_that_the_server_demands_is_advised() {
        let alert =
            "h2 protocol error: connection error: received fatal alert: CertificateRequired";
        assert_eq!(Failure::in_text(alert).map(|failure| failure.advice), Some(THEIRS));
    }
}
