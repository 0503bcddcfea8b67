//! Two rings of bytes in memory that a rank and the simulator share, with futexes to wait on.
//!
//! Each ring has one writer and one reader. Positions count bytes since the beginning, modulo 2^32.
//! The clock is never read through libc: in the rank, its functions are ours.

use std::ffi::{c_long, c_void};
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// Bytes of one ring.
pub const RING: usize = 256 << 10;

/// Bytes of the memory that a rank and the simulator share.
pub const SHARED: usize = 2 * (RING + CONTROL);

/// Bytes before the data of a ring.
const CONTROL: usize = 4096;

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn mmap(
        at: *mut c_void,
        length: usize,
        prot: i32,
        flags: i32,
        fd: i32,
        offset: i64,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, length: usize) -> i32;
}

#[cfg(target_arch = "x86_64")]
const SYS_FUTEX: c_long = 202;
#[cfg(target_arch = "aarch64")]
const SYS_FUTEX: c_long = 98;
const FUTEX_WAIT: i32 = 0;
const FUTEX_WAKE: i32 = 1;

#[repr(C, align(64))]
struct Word(AtomicU32);

/// State shared by the two sides; each word in a cache line of its own.
#[repr(C)]
struct Control {
    /// Bytes written.
    head: Word,
    /// Bytes read.
    tail: Word,
    reader_waits: Word,
    writer_waits: Word,
}

/// Memory shared by a rank and the simulator.
pub struct Shared {
    at: *mut u8,
}

// SAFETY: the memory is used through atomics and by one reader and one writer per ring only.
unsafe impl Send for Shared {}
// SAFETY: as above; `wake_reader` uses atomics only.
unsafe impl Sync for Shared {}

impl Shared {
    /// Maps the file behind a descriptor, which has [`SHARED`] bytes.
    pub fn map(fd: i32) -> Option<Shared> {
        // SAFETY: a new mapping of a file at an address the kernel chooses touches no other memory.
        let at = unsafe { mmap(std::ptr::null_mut(), SHARED, 3, 1, fd, 0) };
        (at as isize != -1).then_some(Shared { at: at.cast() })
    }

    /// The ring from the rank to the simulator is the first, the one back the second.
    fn ring(&self, second: bool) -> Ring {
        let offset = if second { RING + CONTROL } else { 0 };
        // SAFETY: both rings are within the `SHARED` bytes of the mapping.
        unsafe { Ring { control: self.at.add(offset).cast(), data: self.at.add(offset + CONTROL) } }
    }

    /// The writing end of a ring. There may be one per ring.
    pub fn writer(&self, second: bool) -> Writer {
        Writer { ring: self.ring(second), head: 0 }
    }

    /// The reading end of a ring. There may be one per ring.
    pub fn reader(&self, second: bool) -> Reader {
        Reader { ring: self.ring(second), tail: 0 }
    }

    /// Wakes the reader of the first ring, although nothing was written.
    pub fn wake_reader(&self) {
        self.ring(false).control().head.wake();
    }

    /// Unmaps it. No end of a ring may be used any more.
    pub fn unmap(self) {
        // SAFETY: the mapping was made by `map` with this length; the caller gave up the ends.
        unsafe { munmap(self.at.cast(), SHARED) };
    }
}

#[derive(Clone, Copy)]
struct Ring {
    control: *const Control,
    data: *mut u8,
}

impl Ring {
    fn control(&self) -> &Control {
        // SAFETY: the mapping begins on a page and lives as long as the process or until `unmap`.
        unsafe { &*self.control }
    }
}

impl Word {
    /// Sleeps until the word differs from `seen`, it is woken, or the time is over.
    fn wait(&self, seen: u32, nanoseconds: u64) {
        let time = [(nanoseconds / 1_000_000_000) as i64, (nanoseconds % 1_000_000_000) as i64];
        // SAFETY: the word and the time outlive the call.
        unsafe { syscall(SYS_FUTEX, self.0.as_ptr(), FUTEX_WAIT, seen, time.as_ptr()) };
    }

    fn wake(&self) {
        // SAFETY: the word outlives the call.
        unsafe { syscall(SYS_FUTEX, self.0.as_ptr(), FUTEX_WAKE, i32::MAX) };
    }
}

/// Longest sleep between checks that the other side is alive, and the first, nanoseconds.
const LONGEST_NAP: u64 = 5_000_000;
const FIRST_NAP: u64 = 200_000;

/// The writing end of a ring.
pub struct Writer {
    ring: Ring,
    head: u32,
}

// SAFETY: there is one writer, and what it shares with the reader are atomics and bytes that the
// positions give to one of the two.
unsafe impl Send for Writer {}

impl Writer {
    /// Writes all bytes; waits for room while `alive` says that the reader is there.
    pub fn write(&mut self, mut bytes: &[u8], alive: &mut dyn FnMut() -> bool) -> bool {
        let mut nap = FIRST_NAP;
        while !bytes.is_empty() {
            let ring = self.ring;
            let control = ring.control();
            let tail = control.tail.0.load(Ordering::Acquire);
            let room = RING - self.head.wrapping_sub(tail) as usize;
            if room == 0 {
                self.publish(true);
                control.writer_waits.0.store(1, Ordering::SeqCst);
                fence(Ordering::SeqCst);
                if control.tail.0.load(Ordering::SeqCst) == tail {
                    control.tail.wait(tail, nap);
                    nap = (2 * nap).min(LONGEST_NAP);
                    if !alive() {
                        return false;
                    }
                }
                control.writer_waits.0.store(0, Ordering::Relaxed);
                continue;
            }
            let at = self.head as usize % RING;
            let count = bytes.len().min(room).min(RING - at);
            // SAFETY: `at + count` is within the ring, and these bytes are the writer's: the reader
            // has read up to `tail`.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.ring.data.add(at), count) };
            self.head = self.head.wrapping_add(count as u32);
            bytes = &bytes[count..];
        }
        true
    }

    /// Lets the reader see what was written. Without `wake` a reader that sleeps finds it when its
    /// nap is over, or when half the ring is full.
    pub fn publish(&mut self, wake: bool) {
        let control = self.ring.control();
        control.head.0.store(self.head, Ordering::Release);
        let filled = self.head.wrapping_sub(control.tail.0.load(Ordering::Relaxed)) as usize;
        if wake || filled > RING / 2 {
            fence(Ordering::SeqCst);
            if control.reader_waits.0.load(Ordering::SeqCst) != 0 {
                control.head.wake();
            }
        }
    }
}

/// The reading end of a ring.
pub struct Reader {
    ring: Ring,
    tail: u32,
}

// SAFETY: as for `Writer`.
unsafe impl Send for Reader {}

impl Reader {
    /// Whether there is something to read.
    pub fn has_bytes(&self) -> bool {
        self.ring.control().head.0.load(Ordering::Acquire) != self.tail
    }

    /// Fills `bytes`; waits for them while `alive` says that the writer is there.
    pub fn read(&mut self, mut bytes: &mut [u8], alive: &mut dyn FnMut() -> bool) -> bool {
        let mut nap = FIRST_NAP;
        while !bytes.is_empty() {
            let control = self.ring.control();
            let head = control.head.0.load(Ordering::Acquire);
            let there = head.wrapping_sub(self.tail) as usize;
            if there == 0 {
                control.reader_waits.0.store(1, Ordering::SeqCst);
                fence(Ordering::SeqCst);
                if control.head.0.load(Ordering::SeqCst) == head {
                    // Who is gone has written all it ever will.
                    if !alive() && control.head.0.load(Ordering::SeqCst) == head {
                        return false;
                    }
                    control.head.wait(head, nap);
                    nap = (2 * nap).min(LONGEST_NAP);
                }
                control.reader_waits.0.store(0, Ordering::Relaxed);
                continue;
            }
            let at = self.tail as usize % RING;
            let count = bytes.len().min(there).min(RING - at);
            // SAFETY: `at + count` is within the ring, and the writer has published these bytes.
            unsafe {
                std::ptr::copy_nonoverlapping(self.ring.data.add(at), bytes.as_mut_ptr(), count);
            }
            self.tail = self.tail.wrapping_add(count as u32);
            control.tail.0.store(self.tail, Ordering::Release);
            fence(Ordering::SeqCst);
            if control.writer_waits.0.load(Ordering::SeqCst) != 0 {
                control.tail.wake();
            }
            bytes = &mut bytes[count..];
        }
        true
    }
}
