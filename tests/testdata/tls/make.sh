#!/bin/sh
# Makes the certificates of the tests anew, here. The keys of the authorities are not kept.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# authority NAME: a certificate that may sign others
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 \
        -subj "/CN=$1 of the tests" -addext basicConstraints=critical,CA:TRUE \
        -keyout "$work/$1.key" -out "$1.pem" 2>/dev/null
}

# server NAME HOSTS START END: signed by `authority`
server() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" \
        -keyout "$1.key.pem" -out "$work/$1.csr" 2>/dev/null
    printf 'subjectAltName=%s\nbasicConstraints=CA:FALSE\n' "$2" > "$work/$1.ext"
    : > "$work/index"
    printf '[ca]\ndefault_ca=c\n[c]\ndatabase=%s/index\nnew_certs_dir=%s\nrand_serial=yes\npolicy=p\ndefault_md=sha256\n[p]\ncommonName=supplied\n' \
        "$work" "$work" > "$work/ca"
    openssl ca -batch -notext -config "$work/ca" -cert authority.pem -keyfile "$work/authority.key" \
        -extfile "$work/$1.ext" -startdate "$3" -enddate "$4" \
        -in "$work/$1.csr" -out "$1.pem" 2>/dev/null
    chmod 644 "$1.key.pem"
}

authority authority
authority stranger
server local DNS:localhost,IP:127.0.0.1 20250101000000Z 21250101000000Z
server elsewhere DNS:elsewhere.example 20250101000000Z 21250101000000Z
server expired DNS:localhost,IP:127.0.0.1 20250101000000Z 20250102000000Z
