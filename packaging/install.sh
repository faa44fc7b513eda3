#!/bin/sh
# Installs Trunkline @VERSION@ for this user: downloads the programs, compares their checksum, and puts them into one
# folder. It needs no root, and changes nothing else. `sh install.sh --help` says more.
set -eu

version='@VERSION@'
platforms='@PLATFORMS@'
url=${TRUNKLINE_URL:-'@URL@'}
to=${TRUNKLINE_INSTALL_DIR:-"${HOME:?is not set}/.local/bin"}

usage() {
    cat <<END
usage: sh install.sh [--to DIR] [--url URL]

  --to DIR    where the programs go [default: $to; also TRUNKLINE_INSTALL_DIR]
  --url URL   where they are downloaded from [default: ${url:-none}; also TRUNKLINE_URL]

Trunkline $version, for: $platforms
END
}

fail() {
    echo "error: $*" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
        --to) to=${2:?"--to needs a folder"}; shift 2 ;;
        --url) url=${2:?"--url needs an address"}; shift 2 ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
done
[ -n "$url" ] || fail "from where? Say --url URL"

case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=macos ;;
    *) system=$(uname -s) ;;
esac
case $(uname -m) in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=aarch64 ;;
    *) processor=$(uname -m) ;;
esac
platform=$system-$processor
case " $platforms " in
    *" $platform "*) ;;
    *) fail "there is no program for $platform yet; there are some for: $platforms" ;;
esac

if command -v curl >/dev/null; then
    fetch() { curl -fsSL --retry 2 -o "$2" "$1"; }
elif command -v wget >/dev/null; then
    fetch() { wget -q -O "$2" "$1"; }
else
    fail "neither curl nor wget is here"
fi
if command -v sha256sum >/dev/null; then
    sum() { sha256sum "$1" | cut -d ' ' -f 1; }
elif command -v shasum >/dev/null; then
    sum() { shasum -a 256 "$1" | cut -d ' ' -f 1; }
else
    fail "neither sha256sum nor shasum is here, and nothing is installed without its checksum"
fi

folder=trunkline-$version-$platform
archive=$folder.tar.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

echo "Trunkline $version for $platform"
echo "downloading $url/$archive"
fetch "$url/$archive" "$work/$archive" || fail "$url/$archive cannot be downloaded"
fetch "$url/SHA256SUMS" "$work/SHA256SUMS" || fail "$url/SHA256SUMS cannot be downloaded"
wanted=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/SHA256SUMS")
[ -n "$wanted" ] || fail "$url/SHA256SUMS has no line for $archive"
found=$(sum "$work/$archive")
[ "$found" = "$wanted" ] || fail "$archive is not what SHA256SUMS says it is
  expected $wanted
  found    $found
Nothing was installed."
echo "its checksum is right"

tar -xzf "$work/$archive" -C "$work" || fail "$archive cannot be unpacked"
mkdir -p "$to" || fail "$to cannot be made"
# Each in one step, also while an older one runs.
cp "$work/$folder/trunkline" "$to/.trunkline.new" || fail "$to cannot be written to"
chmod 755 "$to/.trunkline.new"
mv -f "$to/.trunkline.new" "$to/trunkline"
echo "installed $to/trunkline"
ln -sf trunkline "$to/.mcp-simple-aggregator.new"
mv -f "$to/.mcp-simple-aggregator.new" "$to/mcp-simple-aggregator"
echo "installed $to/mcp-simple-aggregator, a link to it"
"$to/trunkline" --version >/dev/null || fail "$to/trunkline does not run here"

case ":${PATH:-}:" in
    *":$to:"*) ;;
    *) echo "next: add it to your PATH: export PATH=\"$to:\$PATH\"" ;;
esac
echo "next: trunkline setup (it shows a plan and asks first)"
echo "to remove it: rm $to/trunkline $to/mcp-simple-aggregator"
