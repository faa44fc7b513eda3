//! URLs somebody names, hostile and good.

use super::{BadHost, Cidr, Host, Policy, Reach, ReachRefused};
use crate::url::{BadUrl, Url};

fn policy(allowed: &[&str]) -> Policy {
    Policy { allowed: allowed.iter().map(|net| net.parse().expect(net)).collect() }
}

const HOSTILE: [&str; 84] = [
    // plain
    "http://127.0.0.1/",
    "http://127.0.0.1:8080/mcp",
    "https://127.8.9.10/",
    "http://0.0.0.0/",
    "http://0.0.0.0:3006/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.254/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://169.254.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.170.2/v2/credentials",
    "http://168.63.129.16/",
    "http://100.100.100.200/",
    "http://192.0.0.1/",
    "http://192.0.2.1/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://0.1.2.3/",
    // other spellings of the loopback and of the metadata address
    "http://2130706433/",
    "http://2852039166/",
    "http://017700000001/",
    "http://0x7f000001/",
    "http://0X7F000001/",
    "http://0xa9fea9fe/",
    "http://0177.0.0.1/",
    "http://0x7f.0.0.1/",
    "http://0x7f.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0/",
    "http://00000/",
    "http://127.0.0.01/",
    "http://127.0.0.1./",
    "http://127.0.0.1../",
    "http://127.0.0.0x1/",
    "http://169.254.43518/",
    "http://169.16689662/",
    "http://425.510.425.510/",
    "http://4294967296/",
    // IPv6
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]:80/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:7f00:1::1]/",
    "http://[2001:db8::1]/",
    "http://[2606:4700::5efe:10.0.0.1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[::1/",
    // names that are known
    "http://localhost/",
    "http://LOCALHOST:3006/",
    "http://localhost./",
    "http://a.b.localhost/",
    "http://localhost.localdomain/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://metadata/",
    // what another reader might take for something else
    "http://user@127.0.0.1/",
    "http://example.com@127.0.0.1/",
    "http://example.com:80@10.0.0.1/",
    "http://127.0.0.1\\@example.com/",
    "http://１２７.０.０.１/",
    "http://%31%32%37.0.0.1/",
    "http://127。0。0。1/",
    "http://exa\tmple.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_INFO",
];

const GOOD: [&str; 20] = [
    "https://example.com/",
    "https://example.com/mcp",
    "http://example.com:8080/sse?x=1",
    "https://example.com:65535/",
    "https://example.com./",
    "https://sub.domain.example.co/",
    "https://xn--mnchen-3ya.de/",
    "https://my_host.example/",
    "https://8.8.8.8/",
    "https://1.1.1.1:8443/",
    "https://11.0.0.1/",
    "https://172.32.0.1/",
    "https://[2606:4700:4700::1111]/",
    "https://[64:ff9b::808:808]/",
    "https://[::ffff:8.8.8.8]/",
    "https://localhost.example.com/",
    "https://notlocalhost/",
    "https://10.0.0.1.example.com/",
    "https://127.0.0.1.example/",
    "https://example.com/?url=http://127.0.0.1/#@10.0.0.1",
];

#[test]
fn hostile_urls_are_refused() {
    for text in HOSTILE {
        let refused = Policy::default().read_url(text).expect_err(text);
        assert!(!refused.to_string().is_empty(), "{text}");
    }
}

#[test]
fn good_urls_are_used() {
    for text in GOOD {
        let url = Policy::default().read_url(text);
        assert_eq!(url.map(|url| url.to_string()).ok(), Some(spelt(text)), "{text}");
    }
}

/// Allowing everything does not make other spellings, and what is no server, usable.
#[test]
fn what_is_malformed_is_refused_whatever_is_allowed() {
    let policy = policy(&["0.0.0.0/0", "::/0"]);
    let mut still_refused = 0;
    for text in HOSTILE {
        match policy.read_url(text) {
            Ok(_) => {}
            Err(ReachRefused::NotAllowed(..)) => panic!("{text} is allowed"),
            Err(_) => still_refused += 1,
        }
    }
    assert!((40..HOSTILE.len()).contains(&still_refused), "{still_refused}");
}

#[test]
fn a_refusal_says_what_to_do() {
    for (allowed, text, expected) in [
        (&[][..], "http://10.1.2.3/", Some("--allow-net 10.1.2.3/32")),
        (&["10.0.0.0/8"], "http://10.1.2.3/", None),
        (&["10.0.0.0/8"], "http://[::ffff:10.1.2.3]/", None),
        (&["10.0.0.0/8"], "http://[64:ff9b::10.1.2.3]/", Some("--allow-net 64:ff9b::a01:203/128")),
        (&["10.0.0.0/8"], "http://192.168.0.1/", Some("--allow-net 192.168.0.1/32")),
        (&[], "http://localhost/", Some("127.0.0.1 is a loopback address")),
        (&["127.0.0.1"], "http://localhost/", None),
        (&["::1"], "http://localhost/", None),
        (&["127.0.0.0/8"], "http://127.1/", Some("as four numbers")),
        (&["169.254.0.0/16"], "http://169.254.1.1/", None),
        (&["169.254.0.0/16"], "http://169.254.169.254/", Some("only exactly `--allow-net 169.")),
        (&["169.254.169.254"], "http://169.254.169.254/", None),
        (&["0.0.0.0/0"], "http://0.0.0.0/", Some("no server can be reached there")),
        (&["0.0.0.0/0"], "http://224.0.0.1/", Some("no server can be reached there")),
        (&[], "http://user:secret@h/", Some("use an Authorization header")),
    ] {
        let refused = policy(allowed).read_url(text).err().map(|refused| refused.to_string());
        match (&refused, expected) {
            (None, None) => {}
            (Some(refused), Some(part)) => assert!(refused.contains(part), "{text}: {refused}"),
            _ => panic!("{allowed:?}, {text}: {refused:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn a_judgement_names_its_kind() {
    let policy = Policy::default();
    let judge = |text: &str| policy.judge_url(&Url::parse(text).expect(text));
    let address = "10.0.0.1".parse().unwrap();
    let not_allowed = ReachRefused::NotAllowed(address, Reach::Private, Cidr::only(address));
    assert_eq!(judge("http://10.0.0.1/"), Err(not_allowed));
    assert_eq!(judge("http://127.1/"), Err(ReachRefused::Host(BadHost::Number)));
    assert_eq!(judge("http://example.com/"), Ok(Host::Name));
    assert_eq!(judge("http://1.1.1.1/"), Ok(Host::Address([1, 1, 1, 1].into())));
    assert_eq!(policy.read_url("ftp://example.com/"), Err(ReachRefused::Url(BadUrl::Scheme)));
}

/// As `Url` writes it: without a fragment, an address in its shortest form.
fn spelt(text: &str) -> String {
    Url::parse(text).expect(text).to_string()
}
