//! Sizes of MPI's datatypes by their code in traces.

/// Bytes of the types 0 to 29: double, int, char, short, long, float, byte, long long, signed
/// char, unsigned char, unsigned short, unsigned, unsigned long, unsigned long long, long double,
/// wchar, bool, (u)int 8 to 64, complex of float, double and long double, address, offset.
const BYTES: [u64; 30] =
    [8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8];

/// Bytes of one element.
pub(crate) fn size(code: u64) -> Option<u64> {
    BYTES.get(usize::try_from(code).ok()?).copied()
}

/// Bytes of a double: the type of counts after `init 1`.
pub(crate) const DOUBLE: u64 = 8;
