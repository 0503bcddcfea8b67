//! The data of an edge: several files, each a transfer of its own.

/// Bytes that leave one task for another together, as one or several files.
///
/// Every file is a transfer of its own and all leave at once. Where the network gives each transfer
/// the same rate however many there are, the largest file arrives last; where they share a link,
/// the sum counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Payload {
    /// Sum of the sizes, bytes.
    pub total: f64,
    /// Size of the largest file, bytes.
    pub largest: f64,
}

impl Payload {
    /// The payload of a single file.
    #[inline]
    pub const fn single(bytes: f64) -> Payload {
        Payload { total: bytes, largest: bytes }
    }

    /// The payload of some files.
    pub fn of(sizes: impl IntoIterator<Item = f64>) -> Payload {
        sizes.into_iter().map(Payload::single).fold(Payload::single(0.0), Payload::and)
    }

    /// The files of both.
    #[inline]
    pub fn and(self, other: Payload) -> Payload {
        Payload { total: self.total + other.total, largest: self.largest.max(other.largest) }
    }

    /// The bytes that one transfer would carry in the same time, where up to `streams` transfers
    /// (at least 1) proceed side by side as fast as one alone.
    #[inline]
    pub fn serial_bytes(self, streams: f64) -> f64 {
        self.largest.max(self.total / streams)
    }

    /// The payload with the same share of every file.
    #[inline]
    pub fn scaled(self, share: f64) -> Payload {
        Payload { total: self.total * share, largest: self.largest * share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_share_what_is_shared() {
        let payload = Payload::of([5.0, 2.0, 3.0]);
        assert_eq!(payload, Payload { total: 10.0, largest: 5.0 });
        assert_eq!(payload.serial_bytes(1.0), 10.0);
        assert_eq!(payload.serial_bytes(1.25), 8.0);
        assert_eq!(payload.serial_bytes(f64::INFINITY), 5.0);
        assert_eq!(Payload::single(4.0).serial_bytes(3.0), 4.0);
        assert_eq!(Payload::of([]), Payload::single(0.0));
    }
}
