//! Predefined operations on predefined types, on packed elements. Also compiled into the simulator, which computes the
//! results of reductions.

/// The class of a predefined datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    /// x87's extended format in 16 bytes.
    F80,
    C32,
    C64,
    /// A value and an index of 32 bits, packed.
    PairI16,
    PairI32,
    PairI64,
    PairF32,
    PairF64,
    /// Two values of the same type: Fortran's pairs.
    TwinF32,
    TwinF64,
}

use Element::*;

/// Class of a datatype by MPICH's handle, whose low byte is the number of the type; see `types`.
fn element(datatype: u32) -> Option<Element> {
    Some(match datatype {
        0x8c00_0000 => PairF32,
        0x8c00_0001 => PairF64,
        0x8c00_0002 => PairI64,
        0x8c00_0003 => PairI16,
        0x4c00_0816 | 0x4c00_0820 => PairI32,
        0x4c00_0821 => TwinF32,
        0x4c00_1023 => TwinF64,
        _ if datatype >> 24 != 0x4c => return None,
        _ => match datatype & 0xff {
            0x01 | 0x18 | 0x2d | 0x37 | 0x1a => I8,
            0x02 | 0x0d | 0x0f | 0x3b | 0x3f | 0x33 => U8,
            0x03 | 0x2f | 0x38 => I16,
            0x04 | 0x3c => U16,
            0x05 | 0x0e | 0x1b | 0x1d | 0x30 | 0x39 => I32,
            0x06 | 0x3d => U32,
            0x07 | 0x09 | 0x31 | 0x3a | 0x43 | 0x44 | 0x45 => I64,
            0x08 | 0x19 | 0x3e => U64,
            0x0a | 0x1c | 0x27 => F32,
            0x0b | 0x1f | 0x29 => F64,
            0x0c => F80,
            0x1e | 0x28 | 0x40 | 0x34 => C32,
            0x22 | 0x2a | 0x41 | 0x35 => C64,
            _ => return None,
        },
    })
}

/// Packed bytes of an element.
fn size(element: Element) -> usize {
    match element {
        I8 | U8 => 1,
        I16 | U16 => 2,
        I32 | U32 | F32 => 4,
        I64 | U64 | F64 | C32 | PairI32 | PairF32 | TwinF32 => 8,
        F80 | C64 | TwinF64 => 16,
        PairI16 => 6,
        PairI64 | PairF64 => 12,
    }
}

// Predefined operations, by the low byte of MPICH's handles.
const MAX: u32 = 1;
const MIN: u32 = 2;
const SUM: u32 = 3;
const PROD: u32 = 4;
const LAND: u32 = 5;
const BAND: u32 = 6;
const LOR: u32 = 7;
const BOR: u32 = 8;
const LXOR: u32 = 9;
const BXOR: u32 = 10;
const MINLOC: u32 = 11;
const MAXLOC: u32 = 12;
/// `MPI_REPLACE`: the result is the right operand.
pub const REPLACE: u32 = 13;
/// `MPI_NO_OP`: the result is the left operand.
pub const NO_OP: u32 = 14;

/// Number of a predefined operation by MPICH's handle; `None` for those of programs.
pub fn operation(handle: u32) -> Option<u32> {
    (handle >> 8 == 0x58_0000 && (1..=14).contains(&(handle & 0xff))).then_some(handle & 0xff)
}

/// Whether an operation is defined for a datatype.
pub fn is_defined(op: u32, datatype: u32) -> bool {
    let Some(element) = element(datatype) else { return matches!(op, REPLACE | NO_OP) };
    let pair =
        matches!(element, PairI16 | PairI32 | PairI64 | PairF32 | PairF64 | TwinF32 | TwinF64);
    let real = matches!(element, F32 | F64 | F80);
    let complex = matches!(element, C32 | C64);
    match op {
        MAX | MIN => !pair && !complex,
        SUM | PROD => !pair,
        LAND | LOR | LXOR => !pair && !complex,
        BAND | BOR | BXOR => !pair && !complex && !real,
        MINLOC | MAXLOC => pair,
        _ => true,
    }
}

/// Combines two packed vectors element by element: `right[i] = left[i] op right[i]`. False where the
/// operation is not defined for the datatype.
pub fn combine(op: u32, datatype: u32, left: &[u8], right: &mut [u8]) -> bool {
    match op {
        REPLACE => return true,
        NO_OP => {
            right.copy_from_slice(&left[..right.len()]);
            return true;
        }
        _ if !is_defined(op, datatype) => return false,
        _ => {}
    }
    let Some(element) = element(datatype) else { return false };
    macro_rules! each {
        ($type:ty, $apply:expr) => {{
            const N: usize = size_of::<$type>();
            for (a, b) in left.as_chunks::<N>().0.iter().zip(right.as_chunks_mut::<N>().0) {
                let (x, y) = (<$type>::from_le_bytes(*a), <$type>::from_le_bytes(*b));
                let apply: fn($type, $type) -> $type = $apply;
                *b = apply(x, y).to_le_bytes();
            }
        }};
    }
    macro_rules! integers {
        ($type:ty) => {
            match op {
                MAX => each!($type, |x, y| x.max(y)),
                MIN => each!($type, |x, y| x.min(y)),
                SUM => each!($type, |x, y| x.wrapping_add(y)),
                PROD => each!($type, |x, y| x.wrapping_mul(y)),
                LAND => each!($type, |x, y| <$type>::from(x != 0 && y != 0)),
                LOR => each!($type, |x, y| <$type>::from(x != 0 || y != 0)),
                LXOR => each!($type, |x, y| <$type>::from((x != 0) != (y != 0))),
                BAND => each!($type, |x, y| x & y),
                BOR => each!($type, |x, y| x | y),
                _ => each!($type, |x, y| x ^ y),
            }
        };
    }
    macro_rules! reals {
        ($type:ty) => {
            match op {
                MAX => each!($type, |x, y| if x >= y { x } else { y }),
                MIN => each!($type, |x, y| if x <= y { x } else { y }),
                SUM => each!($type, |x, y| x + y),
                PROD => each!($type, |x, y| x * y),
                LAND => each!($type, |x, y| f32::from(u8::from(x != 0.0 && y != 0.0)).into()),
                LOR => each!($type, |x, y| f32::from(u8::from(x != 0.0 || y != 0.0)).into()),
                _ => each!($type, |x, y| f32::from(u8::from((x != 0.0) != (y != 0.0))).into()),
            }
        };
    }
    macro_rules! complexes {
        ($type:ty) => {{
            const N: usize = size_of::<$type>();
            let read = |bytes: &[[u8; N]], k: usize| <$type>::from_le_bytes(bytes[k]);
            let (a, b) = (left.as_chunks::<N>().0, right.as_chunks_mut::<N>().0);
            for k in (0..b.len() & !1).step_by(2) {
                let (ar, ai, br, bi) = (read(a, k), read(a, k + 1), read(b, k), read(b, k + 1));
                let (re, im) = match op {
                    SUM => (ar + br, ai + bi),
                    _ => (ar * br - ai * bi, ar * bi + ai * br),
                };
                b[k] = re.to_le_bytes();
                b[k + 1] = im.to_le_bytes();
            }
        }};
    }
    macro_rules! pairs {
        ($value:ty, $index:ty) => {{
            const V: usize = size_of::<$value>();
            const N: usize = V + size_of::<$index>();
            for (a, b) in left.chunks_exact(N).zip(right.chunks_exact_mut(N)) {
                let value = |p: &[u8]| {
                    p.first_chunk().map_or(<$value>::default(), |v| <$value>::from_le_bytes(*v))
                };
                let index = |p: &[u8]| {
                    p[V..]
                        .first_chunk()
                        .map_or(<$index>::default(), |v| <$index>::from_le_bytes(*v))
                };
                let (x, y) = (value(a), value(b));
                let left_wins = if op == MINLOC { x < y } else { x > y };
                if left_wins || (x == y && index(a) < index(b)) {
                    b.copy_from_slice(a);
                }
            }
        }};
    }
    match element {
        I8 => integers!(i8),
        I16 => integers!(i16),
        I32 => integers!(i32),
        I64 => integers!(i64),
        U8 => integers!(u8),
        U16 => integers!(u16),
        U32 => integers!(u32),
        U64 => integers!(u64),
        F32 => reals!(f32),
        F64 => reals!(f64),
        F80 => {
            for (a, b) in left.as_chunks::<16>().0.iter().zip(right.as_chunks_mut::<16>().0) {
                extended::apply(op, a, b);
            }
        }
        C32 => complexes!(f32),
        C64 => complexes!(f64),
        PairI16 => pairs!(i16, i32),
        PairI32 => pairs!(i32, i32),
        PairI64 => pairs!(i64, i32),
        PairF32 => pairs!(f32, i32),
        PairF64 => pairs!(f64, i32),
        TwinF32 => pairs!(f32, f32),
        TwinF64 => pairs!(f64, f64),
    }
    debug_assert!(right.len().is_multiple_of(size(element)));
    true
}

/// `long double`: the processor's own arithmetic where it has it, double precision elsewhere.
mod extended {
    use super::{LAND, LOR, LXOR, MAX, MIN, PROD, SUM};

    pub(super) fn apply(op: u32, left: &[u8; 16], right: &mut [u8; 16]) {
        match op {
            SUM | PROD => arithmetic(op == SUM, left, right),
            MAX | MIN => {
                let (x, y) = (to_double(left), to_double(right));
                // Equal in double precision: the remaining bits decide.
                let wins = if x == y { bits_above(left, right) } else { x > y };
                if wins == (op == MAX) {
                    *right = *left;
                }
            }
            _ => {
                let (x, y) = (to_double(left) != 0.0, to_double(right) != 0.0);
                let value = match op {
                    LAND => x && y,
                    LOR => x || y,
                    LXOR => x != y,
                    _ => false,
                };
                *right = [0; 16];
                if value {
                    right[7] = 0x80;
                    right[8..10].copy_from_slice(&0x3fff_u16.to_le_bytes());
                }
            }
        }
    }

    /// Whether `left` is the larger of two that are equal in double precision.
    fn bits_above(left: &[u8; 16], right: &[u8; 16]) -> bool {
        let key = |p: &[u8; 16]| u128::from_le_bytes(*p) & ((1 << 79) - 1);
        let negative = left[9] & 0x80 != 0;
        if negative { key(left) < key(right) } else { key(left) > key(right) }
    }

    #[cfg(target_arch = "x86_64")]
    fn arithmetic(sum: bool, left: &[u8; 16], right: &mut [u8; 16]) {
        // SAFETY: both are 16 readable bytes, of which the processor reads and writes ten; the
        // register stack is as empty afterwards as before.
        unsafe {
            if sum {
                std::arch::asm!(
                    "fld tbyte ptr [{a}]", "fld tbyte ptr [{b}]", "faddp", "fstp tbyte ptr [{b}]",
                    a = in(reg) left.as_ptr(), b = in(reg) right.as_mut_ptr(),
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                );
            } else {
                std::arch::asm!(
                    "fld tbyte ptr [{a}]", "fld tbyte ptr [{b}]", "fmulp", "fstp tbyte ptr [{b}]",
                    a = in(reg) left.as_ptr(), b = in(reg) right.as_mut_ptr(),
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                );
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn arithmetic(sum: bool, left: &[u8; 16], right: &mut [u8; 16]) {
        let (x, y) = (to_double(left), to_double(right));
        *right = from_double(if sum { x + y } else { x * y });
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn from_double(value: f64) -> [u8; 16] {
        let mut out = [0; 16];
        out[..8].copy_from_slice(&value.to_le_bytes());
        out
    }

    #[cfg(target_arch = "x86_64")]
    fn to_double(bytes: &[u8; 16]) -> f64 {
        let whole = u128::from_le_bytes(*bytes);
        let (fraction, exponent) = (whole as u64, (whole >> 64) as u16);
        let sign = if exponent >> 15 == 1 { -1.0 } else { 1.0 };
        let exponent = i32::from(exponent & 0x7fff);
        match exponent {
            0x7fff if fraction << 1 == 0 => sign * f64::INFINITY,
            0x7fff => f64::NAN,
            _ => sign * fraction as f64 * 2f64.powi((exponent - 16383 - 63).max(-1074)),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn to_double(bytes: &[u8; 16]) -> f64 {
        bytes.first_chunk().map_or(0.0, |b| f64::from_le_bytes(*b))
    }
}
