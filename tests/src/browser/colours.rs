//! Can the text of a page be read? Contrast as WCAG 2 computes it, over every text that can be seen.

use serde_json::Value;

use super::Browser;

/// Text that does not stand out enough.
#[derive(Debug, Clone, PartialEq)]
pub struct Faint {
    pub text: String,
    /// Its element, as a selector would name it.
    pub place: String,
    pub ratio: f64,
    pub wanted: f64,
}

/// Red, green, blue from 0 to 255, and how opaque from 0 to 1.
type Colour = [f64; 4];

/// Every text with its colour and what is painted behind it, the farthest first.
const TEXTS: &str = r"
const canvas = document.createElement('canvas');
canvas.width = canvas.height = 1;
const pen = canvas.getContext('2d', {willReadFrequently: true});
const known = new Map();
const rgba = css => {
  if (!known.has(css)) {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = css;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    known.set(css, [r, g, b, a / 255]);
  }
  return known.get(css);
};
const found = [];
const tell = (element, text, css) => {
  text = text.replace(/\s+/g, ' ').trim();
  if (!text || !element.checkVisibility({visibilityProperty: true, opacityProperty: true})) return;
  const box = element.getBoundingClientRect();
  if (box.width <= 1 || box.height <= 1 || element.closest(':disabled, [aria-disabled=true]')) return;
  const layers = [];
  let opacity = 1;
  for (let e = element; e; e = e.parentElement) {
    const style = getComputedStyle(e);
    opacity *= Number(style.opacity);
    layers.unshift(rgba(style.backgroundColor));
  }
  const style = getComputedStyle(element);
  const own = element.closest('svg') ? style.fill : css || style.color;
  const [r, g, b, a] = rgba(own);
  found.push({text: text.slice(0, 60), colour: [r, g, b, a * opacity], layers,
    size: parseFloat(style.fontSize), weight: Number(style.fontWeight),
    place: element.tagName.toLowerCase() + [...element.classList].map(c => '.' + c).join('')});
};
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walk.nextNode(); node; node = walk.nextNode()) {
  const parent = node.parentElement;
  if (!parent.closest('script, style, noscript, option, title, desc')) tell(parent, node.data);
}
for (const field of document.querySelectorAll('input, textarea, select')) {
  if (field.type === 'hidden' || field.type === 'checkbox' || field.type === 'radio') continue;
  if (field.placeholder && !field.value) {
    tell(field, field.placeholder, getComputedStyle(field, '::placeholder').color);
  } else tell(field, field.value || '');
}
return [rgba(getComputedStyle(document.documentElement).backgroundColor), rgba('Canvas'), found];
";

impl Browser {
    /// Every text on the page that WCAG AA finds too faint.
    #[track_caller]
    pub fn faint(&self) -> Vec<Faint> {
        let told = self.script(TEXTS, &[]);
        let canvas = colour(&told[1]);
        let texts = told[2].as_array().expect("texts");
        assert!(!texts.is_empty(), "there is no text at {}", self.path());
        texts.iter().filter_map(|text| judge(text, canvas)).collect()
    }

    #[track_caller]
    pub fn assert_readable(&self) {
        let faint = self.faint();
        assert!(faint.is_empty(), "too faint at {}: {faint:#?}", self.path());
    }
}

fn judge(text: &Value, canvas: Colour) -> Option<Faint> {
    let layers = text["layers"].as_array().into_iter().flatten().map(colour);
    let behind = layers.fold(canvas, |below, layer| over(layer, below));
    let ratio = contrast(over(colour(&text["colour"]), behind), behind);
    let (size, weight) = (text["size"].as_f64()?, text["weight"].as_f64()?);
    let is_large = size >= 24.0 || (size >= 18.66 && weight >= 700.0);
    let wanted = if is_large { 3.0 } else { 4.5 };
    let said = |name: &str| text[name].as_str().unwrap_or_default().to_owned();
    (ratio < wanted).then(|| Faint { text: said("text"), place: said("place"), ratio, wanted })
}

fn colour(value: &Value) -> Colour {
    [0, 1, 2, 3].map(|index: usize| value[index].as_f64().unwrap_or(0.0))
}

/// What is seen when the one is painted over the other, which is opaque.
fn over(upper: Colour, below: Colour) -> Colour {
    let share = upper[3];
    let mixed = |index: usize| upper[index] * share + below[index] * (1.0 - share);
    [mixed(0), mixed(1), mixed(2), 1.0]
}

/// From 1 (the same) to 21 (black on white).
pub fn contrast(one: Colour, other: Colour) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance([red, green, blue, _]: Colour) -> f64 {
    let linear = |channel: f64| match channel / 255.0 {
        low if low <= 0.04045 => low / 12.92,
        high => ((high + 0.055) / 1.055).powf(2.4),
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

#[cfg(test)]
mod tests {
    use super::{contrast, over};

    const WHITE: [f64; 4] = [255.0, 255.0, 255.0, 1.0];
    const BLACK: [f64; 4] = [0.0, 0.0, 0.0, 1.0];

    #[test]
    fn contrast_is_as_published() {
        let grey = |level: f64| [level, level, level, 1.0];
        for (one, other, expected) in [
            (WHITE, BLACK, 21.0),
            (WHITE, WHITE, 1.0),
            // #767676 is the lightest grey that passes on white, #777777 does not.
            (grey(118.0), WHITE, 4.54),
            (grey(119.0), WHITE, 4.48),
            ([0.0, 0.0, 255.0, 1.0], WHITE, 8.59),
        ] {
            let found = contrast(one, other);
            assert!((found - expected).abs() < 0.01, "{one:?} on {other:?}: {found}");
        }
    }

    #[test]
    fn what_is_half_there_is_mixed() {
        assert_eq!(over([0.0, 0.0, 0.0, 0.5], WHITE), [127.5, 127.5, 127.5, 1.0]);
        assert_eq!(over([9.0, 9.0, 9.0, 0.0], BLACK), BLACK);
    }
}
