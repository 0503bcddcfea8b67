//! Datatypes: the bytes of a buffer that belong to a message. Handles are those of MPICH.

use std::ffi::c_void;
use std::sync::Arc;

/// Contiguous bytes of one kind of basic element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Bytes from the address of the element.
    pub offset: isize,
    /// Bytes.
    pub length: usize,
    /// Bytes of each basic element in it.
    pub unit: u32,
}

/// A datatype, flattened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Datatype {
    /// Handle of the basic type, where it is one.
    pub basic: u32,
    /// Handle of the basic type of all its elements, 0 where they differ.
    pub element: u32,
    /// Bytes of data.
    pub size: usize,
    /// Lower bound, in bytes.
    pub lb: isize,
    /// Bytes from one element to the next.
    pub extent: isize,
    /// The bytes of one element, in the order in which they are sent.
    pub segments: Vec<Segment>,
    /// Constructor of the type, for `MPI_Type_get_contents`: combiner, integers, addresses, types.
    pub envelope: (i32, Vec<i32>, Vec<isize>, Vec<i32>),
    /// Its name.
    pub name: String,
}

/// MPICH's predefined types: handle and name. In `0x4c00SSNN` SS is the size in bytes and NN a number; `0x8c...` are pairs
/// of a value and an index.
const NAMES: [(u32, &str); 62] = [
    (0x4c000101, "MPI_CHAR"),
    (0x4c000118, "MPI_SIGNED_CHAR"),
    (0x4c000102, "MPI_UNSIGNED_CHAR"),
    (0x4c00010d, "MPI_BYTE"),
    (0x4c00040e, "MPI_WCHAR"),
    (0x4c000203, "MPI_SHORT"),
    (0x4c000204, "MPI_UNSIGNED_SHORT"),
    (0x4c000405, "MPI_INT"),
    (0x4c000406, "MPI_UNSIGNED"),
    (0x4c000807, "MPI_LONG"),
    (0x4c000808, "MPI_UNSIGNED_LONG"),
    (0x4c00040a, "MPI_FLOAT"),
    (0x4c00080b, "MPI_DOUBLE"),
    (0x4c00100c, "MPI_LONG_DOUBLE"),
    (0x4c000809, "MPI_LONG_LONG_INT"),
    (0x4c000819, "MPI_UNSIGNED_LONG_LONG"),
    (0x4c00010f, "MPI_PACKED"),
    (0x4c000010, "MPI_LB"),
    (0x4c000011, "MPI_UB"),
    (0x8c000000, "MPI_FLOAT_INT"),
    (0x8c000001, "MPI_DOUBLE_INT"),
    (0x8c000002, "MPI_LONG_INT"),
    (0x8c000003, "MPI_SHORT_INT"),
    (0x4c000816, "MPI_2INT"),
    (0x8c000004, "MPI_LONG_DOUBLE_INT"),
    (0x4c00081e, "MPI_COMPLEX"),
    (0x4c001022, "MPI_DOUBLE_COMPLEX"),
    (0x4c00041d, "MPI_LOGICAL"),
    (0x4c00041c, "MPI_REAL"),
    (0x4c00081f, "MPI_DOUBLE_PRECISION"),
    (0x4c00041b, "MPI_INTEGER"),
    (0x4c000820, "MPI_2INTEGER"),
    (0x4c000821, "MPI_2REAL"),
    (0x4c001023, "MPI_2DOUBLE_PRECISION"),
    (0x4c00011a, "MPI_CHARACTER"),
    (0x4c000427, "MPI_REAL4"),
    (0x4c000829, "MPI_REAL8"),
    (0x4c00102b, "MPI_REAL16"),
    (0x4c000828, "MPI_COMPLEX8"),
    (0x4c00102a, "MPI_COMPLEX16"),
    (0x4c00202c, "MPI_COMPLEX32"),
    (0x4c00012d, "MPI_INTEGER1"),
    (0x4c00022f, "MPI_INTEGER2"),
    (0x4c000430, "MPI_INTEGER4"),
    (0x4c000831, "MPI_INTEGER8"),
    (0x4c000137, "MPI_INT8_T"),
    (0x4c000238, "MPI_INT16_T"),
    (0x4c000439, "MPI_INT32_T"),
    (0x4c00083a, "MPI_INT64_T"),
    (0x4c00013b, "MPI_UINT8_T"),
    (0x4c00023c, "MPI_UINT16_T"),
    (0x4c00043d, "MPI_UINT32_T"),
    (0x4c00083e, "MPI_UINT64_T"),
    (0x4c00013f, "MPI_C_BOOL"),
    (0x4c000840, "MPI_C_FLOAT_COMPLEX"),
    (0x4c001041, "MPI_C_DOUBLE_COMPLEX"),
    (0x4c002042, "MPI_C_LONG_DOUBLE_COMPLEX"),
    (0x4c000843, "MPI_AINT"),
    (0x4c000844, "MPI_OFFSET"),
    (0x4c000845, "MPI_COUNT"),
    (0x4c000133, "MPI_CXX_BOOL"),
    (0x4c001035, "MPI_CXX_DOUBLE_COMPLEX"),
];

/// Constructors of types, MPICH's codes.
pub mod combiner {
    pub const NAMED: i32 = 1;
    pub const DUP: i32 = 2;
    pub const CONTIGUOUS: i32 = 3;
    pub const VECTOR: i32 = 4;
    pub const HVECTOR: i32 = 6;
    pub const INDEXED: i32 = 7;
    pub const HINDEXED: i32 = 9;
    pub const INDEXED_BLOCK: i32 = 10;
    pub const STRUCT: i32 = 12;
    pub const SUBARRAY: i32 = 13;
    pub const DARRAY: i32 = 14;
    pub const RESIZED: i32 = 18;
    pub const HINDEXED_BLOCK: i32 = 19;
}

/// A predefined type by its handle.
pub fn predefined(handle: u32) -> Option<Datatype> {
    let (_, name) = NAMES.iter().find(|(known, _)| *known == handle)?;
    let bytes = (handle >> 8 & 0xff) as usize;
    let segment = |offset, length| Segment { offset, length, unit: length as u32 };
    let (segments, extent) = match handle {
        0x8c000000 => (vec![segment(0, 4), segment(4, 4)], 8),
        0x8c000001 | 0x8c000002 => (vec![segment(0, 8), segment(8, 4)], 16),
        0x8c000003 => (vec![segment(0, 2), segment(4, 4)], 8),
        0x8c000004 => (vec![segment(0, 16), segment(16, 4)], 32),
        0x4c000010 | 0x4c000011 => (Vec::new(), 0),
        0x4c000816 | 0x4c000820 | 0x4c000821 => {
            (vec![Segment { offset: 0, length: 8, unit: 4 }], 8)
        }
        0x4c001023 => (vec![Segment { offset: 0, length: 16, unit: 8 }], 16),
        _ => (vec![segment(0, bytes)], bytes as isize),
    };
    Some(Datatype {
        basic: handle,
        element: handle,
        size: segments.iter().map(|s: &Segment| s.length).sum(),
        lb: 0,
        extent,
        segments,
        envelope: (combiner::NAMED, Vec::new(), Vec::new(), Vec::new()),
        name: (*name).to_owned(),
    })
}

impl Datatype {
    /// A type made of copies of others at displacements in bytes.
    pub fn of(parts: impl Iterator<Item = (Arc<Datatype>, usize, isize)>) -> Datatype {
        let mut made = Datatype::default();
        let (mut low, mut high) = (isize::MAX, isize::MIN);
        let (mut marked_low, mut marked_high) = (None::<isize>, None::<isize>);
        let mut element = None;
        for (part, count, at) in parts {
            // `MPI_LB` and `MPI_UB` of MPI-1: they set the bounds and have no data.
            match part.basic {
                0x4c000010 => {
                    marked_low = Some(marked_low.map_or(at, |m| m.min(at)));
                    continue;
                }
                0x4c000011 => {
                    marked_high = Some(marked_high.map_or(at, |m| m.max(at)));
                    continue;
                }
                _ => {}
            }
            if count == 0 {
                continue;
            }
            let last = at + (count as isize - 1) * part.extent;
            low = low.min(at + part.lb).min(last + part.lb);
            high = high.max(at + part.lb + part.extent).max(last + part.lb + part.extent);
            element =
                Some(if element.is_none_or(|e| e == part.element) { part.element } else { 0 });
            made.size += count * part.size;
            if part.is_dense() {
                made.push(Segment {
                    offset: at + part.lb,
                    length: count * part.size,
                    unit: part.segments[0].unit,
                });
                continue;
            }
            for k in 0..count {
                for segment in &part.segments {
                    let offset = at + k as isize * part.extent + segment.offset;
                    made.push(Segment { offset, ..*segment });
                }
            }
        }
        if low > high {
            (low, high) = (0, 0);
        }
        made.element = element.unwrap_or(0);
        made.lb = marked_low.unwrap_or(low);
        made.extent = marked_high.unwrap_or(high) - made.lb;
        made
    }

    /// Rounds the extent up to the alignment of the largest element, as a compiler does for structures.
    pub fn align(&mut self) {
        let align = self.segments.iter().map(|s| s.unit.min(16)).max().unwrap_or(1) as isize;
        let rest = self.extent.rem_euclid(align.max(1));
        if rest != 0 {
            self.extent += align - rest;
        }
    }

    fn push(&mut self, segment: Segment) {
        match self.segments.last_mut() {
            Some(last)
                if last.offset + last.length as isize == segment.offset
                    && last.unit == segment.unit =>
            {
                last.length += segment.length;
            }
            _ => self.segments.push(segment),
        }
    }

    /// Whether elements follow each other without gaps, in order.
    pub fn is_dense(&self) -> bool {
        self.segments.len() == 1
            && self.segments[0].offset == self.lb
            && self.segments[0].length as isize == self.extent
    }

    /// First and last byte of data.
    pub fn true_bounds(&self) -> (isize, isize) {
        let low = self.segments.iter().map(|s| s.offset).min().unwrap_or(0);
        let high = self.segments.iter().map(|s| s.offset + s.length as isize).max().unwrap_or(0);
        (low, high)
    }

    /// Appends `count` elements at `from` to `out`.
    ///
    /// # Safety
    /// `from` points to memory that holds `count` elements of this type.
    pub unsafe fn pack(&self, from: *const c_void, count: usize, out: &mut Vec<u8>) {
        let from = from.cast::<u8>();
        out.reserve(count * self.size);
        let mut copy = |offset: isize, length: usize| {
            // SAFETY: by the contract these bytes are part of an element.
            out.extend_from_slice(unsafe {
                std::slice::from_raw_parts(from.wrapping_offset(offset), length)
            });
        };
        if count == 0 || self.size == 0 {
            return;
        }
        if self.is_dense() {
            return copy(self.lb, count * self.size);
        }
        for k in 0..count as isize {
            for segment in &self.segments {
                copy(k * self.extent + segment.offset, segment.length);
            }
        }
    }

    /// Writes packed elements to `to`, as many as there are; gives the bytes that were used.
    ///
    /// # Safety
    /// `to` points to memory for `count` elements of this type.
    pub unsafe fn unpack(&self, packed: &[u8], to: *mut c_void, count: usize) -> usize {
        let to = to.cast::<u8>();
        let mut rest = &packed[..packed.len().min(count * self.size)];
        let used = rest.len();
        let mut copy = |offset: isize, length: usize| {
            let length = length.min(rest.len());
            // SAFETY: by the contract these bytes are part of an element.
            unsafe {
                std::ptr::copy(rest.as_ptr(), to.wrapping_offset(offset), length);
            }
            rest = &rest[length..];
            !rest.is_empty()
        };
        if used == 0 {
            return 0;
        }
        if self.is_dense() {
            copy(self.lb, used);
            return used;
        }
        for k in 0..count as isize {
            for segment in &self.segments {
                if !copy(k * self.extent + segment.offset, segment.length) {
                    return used;
                }
            }
        }
        used
    }

    /// Reverses the bytes of every basic element of packed data, to and from `external32`, which is big-endian.
    pub fn swap(&self, packed: &mut [u8]) {
        let mut rest = packed;
        while !rest.is_empty() && self.size > 0 {
            for segment in &self.segments {
                let (here, after) = rest.split_at_mut(segment.length.min(rest.len()));
                // A complex number is two elements.
                let unit = if self.is_complex() { segment.unit / 2 } else { segment.unit };
                here.chunks_exact_mut(unit.max(1) as usize).for_each(<[u8]>::reverse);
                rest = after;
            }
        }
    }

    fn is_complex(&self) -> bool {
        matches!(
            self.element,
            0x4c00081e
                | 0x4c001022
                | 0x4c000828
                | 0x4c00102a
                | 0x4c00202c
                | 0x4c000840
                | 0x4c001041
                | 0x4c002042
        )
    }

    /// Number of basic elements in an amount of data; `None` where the data end inside an element.
    pub fn elements(&self, bytes: u64) -> Option<u64> {
        if self.size == 0 {
            return (bytes == 0).then_some(0);
        }
        let per: u64 = self.segments.iter().map(|s| s.length as u64 / u64::from(s.unit)).sum();
        let mut found = bytes / self.size as u64 * per;
        let mut rest = bytes % self.size as u64;
        for segment in &self.segments {
            let here = rest.min(segment.length as u64);
            if !here.is_multiple_of(u64::from(segment.unit)) {
                return None;
            }
            found += here / u64::from(segment.unit);
            rest -= here;
        }
        Some(found)
    }

    /// Size of the elements that algorithms of collectives do not divide, where the format of traces has a type of that
    /// size; else 1.
    pub fn trace_unit(&self) -> u32 {
        match self.size {
            1 | 2 | 4 | 8 | 16 | 32 => self.size as u32,
            _ => 1,
        }
    }
}
