//! A bar chart as a PNG, without compression: enough to show that results can be pictures.

/// Pixels of a bar and of the gap behind it.
const BAR: usize = 24;
const GAP: usize = 8;
const HEIGHT: usize = 120;

/// Indexes into the palette: paper, below zero, above it.
const PALETTE: [[u8; 3]; 3] = [[0xff, 0xff, 0xff], [0x2f, 0x6f, 0xb5], [0xd9, 0x6b, 0x27]];

/// One bar for each value, the highest as high as the picture.
pub(super) fn bars(values: &[i64]) -> Vec<u8> {
    let width = values.len() * (BAR + GAP) + GAP;
    let most = values.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0).max(1);
    let mut rows = Vec::new();
    for row in 0..HEIGHT {
        // Each row begins with the filter that it was given: none.
        rows.push(0);
        rows.extend((0..width).map(|column| colour(values, most, row, column)));
    }
    png(width, &rows)
}

fn colour(values: &[i64], most: u64, row: usize, column: usize) -> u8 {
    let (index, within) = (column / (BAR + GAP), column % (BAR + GAP));
    let Some(value) = values.get(index).filter(|_| within >= GAP) else { return 0 };
    let filled = value.unsigned_abs().saturating_mul(HEIGHT as u64) / most;
    let is_filled = ((HEIGHT - row) as u64) <= filled;
    if is_filled { 1 + u8::from(*value > 0) } else { 0 }
}

fn png(width: usize, rows: &[u8]) -> Vec<u8> {
    let size = |pixels: usize| u32::try_from(pixels).unwrap_or_default().to_be_bytes();
    // Eight bits for a pixel, which is an index into the palette.
    let head = [&size(width)[..], &size(HEIGHT), &[8, 3, 0, 0, 0]].concat();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [
        (b"IHDR", head),
        (b"PLTE", PALETTE.concat()),
        (b"IDAT", stored(rows)),
        (b"IEND", Vec::new()),
    ] {
        let body = [&kind[..], &data].concat();
        file.extend(size(data.len()));
        file.extend(&body);
        file.extend(crc(&body).to_be_bytes());
    }
    file
}

/// As zlib writes what it does not compress (RFC 1950, RFC 1951).
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let blocks = bytes.chunks(0xffff);
    let last = blocks.len().saturating_sub(1);
    for (index, block) in blocks.enumerate() {
        let length = u16::try_from(block.len()).unwrap_or_default();
        out.push(u8::from(index == last));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    out.extend(adler(bytes).to_be_bytes());
    out
}

fn adler(bytes: &[u8]) -> u32 {
    let (low, high) = bytes.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    high << 16 | low
}

fn crc(bytes: &[u8]) -> u32 {
    let step = |sum: u32| if sum & 1 == 1 { 0xedb8_8320 ^ (sum >> 1) } else { sum >> 1 };
    !bytes
        .iter()
        .fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_those_of_the_standards() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
        assert_eq!(adler(b"Wikipedia"), 0x11e6_0398);
    }

    #[test]
    fn a_chart_is_a_picture_of_its_size() {
        let chart = bars(&[3, -2, 0]);
        assert!(chart.starts_with(b"\x89PNG\r\n\x1a\n") && chart.ends_with(b"IEND\xaeB`\x82"));
        let width = u32::from_be_bytes([chart[16], chart[17], chart[18], chart[19]]);
        assert_eq!(width, 3 * 32 + 8);
        assert!(bars(&[]).len() > 60);
    }
}
