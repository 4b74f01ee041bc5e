//! TLS by certificate files. Those under `tls/` are for these tests alone.

use std::io::{Read, Write};
use std::sync::Arc;

use singlet_http::{Server, TlsFiles};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::client::{connect, parse};
use crate::running::{Options, start};

const CERTIFICATE: &[u8] = include_bytes!("tls/certificate.pem");
const KEY: &[u8] = include_bytes!("tls/key.pem");

fn files(certificates: &[u8], key: &[u8]) -> TlsFiles {
    TlsFiles {
        certificates: certificates.to_vec(),
        key: key.to_vec(),
    }
}

#[test]
fn a_client_that_trusts_the_certificate_is_answered() {
    let running = start(Options {
        tls: Some(files(CERTIFICATE, KEY)),
        only: Some(&["todo"]),
        ..Options::default()
    });
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(CERTIFICATE).unwrap()).unwrap();
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(client, connect(running.address));
    stream
        .write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = parse(&answer).unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("strict-transport-security"), Some("max-age=31536000"));
    // Somebody who speaks no TLS is cut off, and harms nobody.
    let mut plain = connect(running.address);
    plain.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut nothing = Vec::new();
    let _ = plain.read_to_end(&mut nothing);
    assert!(parse(&nothing).is_none());
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named() {
    let bind = async |certificates: &[u8], key: &[u8]| {
        let bound = Server::bind("127.0.0.1:0", Some(&files(certificates, key))).await;
        bound.err().unwrap_or_else(|| panic!("these were taken")).to_string()
    };
    assert_eq!(bind(b"", KEY).await, "the certificate file has no certificate");
    assert!(bind(CERTIFICATE, b"").await.starts_with("the key file cannot be used"));
    assert!(
        bind(CERTIFICATE, CERTIFICATE)
            .await
            .starts_with("the key file cannot be used")
    );
}
