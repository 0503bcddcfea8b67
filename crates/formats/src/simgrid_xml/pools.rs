//! Capacities as properties: devices `a100:2,l4:2x4` (count, x slots, @ vendor), named resources
//! `scratch:200,io:4`, windows `0 60,90 120`.

use slackline_model::resources::{Amount, DeviceKind};
use slackline_model::units::Quantity;
use std::sync::Arc;

/// Named amounts.
type Named = Vec<(Arc<str>, Amount)>;

fn escaped(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        match c {
            '%' | ',' | ':' | '@' => text.push_str(&format!("%{:02X}", c as u32)),
            c => text.push(c),
        }
    }
    text
}

fn unescaped(text: &str) -> String {
    ["2C,", "3A:", "40@", "25%"]
        .iter()
        .fold(text.to_string(), |text, code| text.replace(&format!("%{}", &code[..2]), &code[2..]))
}

pub(super) fn write_gpus(kinds: &[DeviceKind]) -> String {
    let one = |kind: &DeviceKind| {
        let mut text = if kind.name.is_empty() {
            kind.count.to_string()
        } else {
            format!("{}:{}", escaped(&kind.name), kind.count)
        };
        if kind.slots != 1 {
            text.push_str(&format!("x{}", kind.slots));
        }
        if let Some(vendor) = &kind.vendor {
            text.push_str(&format!("@{}", escaped(vendor)));
        }
        text
    };
    kinds.iter().map(one).collect::<Vec<_>>().join(",")
}

pub(super) fn read_gpus(text: &str) -> Result<Vec<DeviceKind>, String> {
    let one = |part: &str| {
        let bad = || format!("\"{part}\" is no number of devices: write e.g. a100:2 or l4:2x4");
        let (name, rest) = part.rsplit_once(':').unwrap_or(("", part));
        let (numbers, vendor) = match rest.split_once('@') {
            Some((numbers, vendor)) => (numbers, Some(Arc::from(unescaped(vendor)))),
            None => (rest, None),
        };
        let (count, slots) = numbers.split_once('x').unwrap_or((numbers, "1"));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| bad());
        let name = unescaped(name.trim()).into();
        Ok(DeviceKind { name, count: number(count)?, slots: number(slots)?, vendor })
    };
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(one).collect()
}

pub(super) fn write_named<'n>(named: impl Iterator<Item = (&'n str, Amount)>) -> String {
    let one = |(name, amount): (&str, Amount)| {
        let value = match amount {
            Amount::Parts(_) => amount.value().to_string(),
            Amount::Bytes(_) => Quantity::Size.write(amount.value()),
        };
        format!("{}:{value}", escaped(name))
    };
    named.map(one).collect::<Vec<_>>().join(",")
}

pub(super) fn read_named(text: &str) -> Result<Named, String> {
    let one = |part: &str| {
        let bad = || format!("\"{part}\" is no amount: write e.g. scratch:200 or tmp:2TB");
        let (name, value) = part.rsplit_once(':').ok_or_else(bad)?;
        let amount = match value.trim().parse::<f64>() {
            Ok(units) => Amount::capacity(units).map_err(|e| e.to_string())?,
            Err(_) => {
                let bytes = Quantity::Size.parse(value).map_err(|e| e.to_string())?;
                Amount::capacity_bytes(bytes).map_err(|e| e.to_string())?
            }
        };
        Ok((Arc::from(unescaped(name.trim())), amount))
    };
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(one).collect()
}

pub(super) fn write_windows(windows: &[(f64, f64)]) -> String {
    windows.iter().map(|(from, to)| format!("{from} {to}")).collect::<Vec<_>>().join(",")
}

pub(super) fn read_windows(text: &str) -> Result<Vec<(f64, f64)>, String> {
    let one = |part: &str| {
        let bad = || format!("\"{part}\" is no window: write its begin and end in seconds");
        let (from, to) = part.split_once(' ').ok_or_else(bad)?;
        let date = |text: &str| text.trim().parse::<f64>().map_err(|_| bad());
        Ok((date(from)?, date(to)?))
    };
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let slots = DeviceKind { slots: 4, ..DeviceKind::new("l4", 2) };
        let amd = DeviceKind { vendor: Some("amd".into()), ..DeviceKind::new("mi,250", 1) };
        for kinds in [vec![DeviceKind::new("", 3)], vec![DeviceKind::new("a100", 2), slots, amd]] {
            assert_eq!(read_gpus(&write_gpus(&kinds)), Ok(kinds));
        }
        assert_eq!(write_gpus(&[DeviceKind::new("a100", 2)]), "a100:2");
        let named: Named = vec![
            ("scratch".into(), Amount::capacity(200.5).unwrap()),
            ("a:b%".into(), Amount::capacity_bytes(2e12).unwrap()),
        ];
        let text = write_named(named.iter().map(|(name, amount)| (&**name, *amount)));
        assert_eq!(read_named(&text), Ok(named));
        assert_eq!(read_windows("0 60,90.5 120"), Ok(vec![(0.0, 60.0), (90.5, 120.0)]));
        assert!(read_gpus("a100:-1").is_err() && read_named("io").is_err());
    }
}
